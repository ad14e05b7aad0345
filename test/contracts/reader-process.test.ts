import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type ReaderLimits, runReader } from '../../src/contracts/reader-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { builtProgram } from '../helpers/files/reader-program.ts';

const LIMITS: ReaderLimits = { timeMs: 60_000, memoryMb: 256, heapMb: 64 };

/** A reader process that does `body` with its `task` and `send`. */
const reader = (body: string) =>
  builtProgram(`
    import { connect } from 'node:net';
    import { serveReader } from './contracts/reader-process.ts';
    serveReader(async (task: any, send) => { ${body} });`);

async function run(
  body: string,
  options: { task?: object; limits?: Partial<ReaderLimits>; signal?: AbortSignal } = {},
) {
  const messages: unknown[] = [];
  const end = await runReader({
    ...{ program: reader(body), task: options.task ?? {}, signal: options.signal },
    limits: { ...LIMITS, ...options.limits },
    onMessage: (message) => messages.push(message),
  });
  return { end, messages };
}

test('a reader process sends all it reads before it ends', async () => {
  const { end, messages } = await run(
    'for (let at = 0; at < 20; at += 1) await send(String(at).repeat(task.size));',
    { task: { size: 100_000 } },
  );
  expect(end).toBe('done');
  expect(messages).toEqual(Array.from({ length: 20 }, (_, at) => String(at).repeat(100_000)));
});

test('a reader process inherits no variable', async () => {
  expect(process.env.PATH).toBeDefined();
  const { messages } = await run("await send(process.env.PATH ?? 'not set');");
  expect(messages).toEqual(['not set']);
});

test('a busy reader process ends at its time limit', async () => {
  expect(await run('for (;;);', { limits: { timeMs: 1_000 } })).toMatchObject({ end: 'time' });
});

test.each([
  ['outside the heap', 'for (const all = []; ; ) all.push(Buffer.alloc(4_194_304, 1));'],
  ['in the heap', 'for (const all = []; ; ) all.push({ all });'],
])('a reader process ends at its memory limit, for memory %s', async (_where, body) => {
  expect(await run(body)).toMatchObject({ end: 'memory' });
});

test('an error in a reader process is reported with its message', async () => {
  await expect(run("throw new Error('no such table');")).rejects.toThrow('no such table');
});

test('reader processes run one after another', async () => {
  const connected = new Set<object>();
  let most = 0;
  const server = createServer((socket) => {
    connected.add(socket);
    most = Math.max(most, connected.size);
    socket.on('close', () => connected.delete(socket)).end('on you go');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const body = `
    const socket = connect(task.port, '127.0.0.1').resume();
    await new Promise((resolve) => socket.on('end', resolve));`;
  const task = { port: (server.address() as { port: number }).port };
  await Promise.all(Array.from({ length: 3 }, () => run(body, { task })));
  expect(most).toBe(1);
  server.close();
});

test('a reader process ends with its signal, also while it waits for its turn', async () => {
  const gone = new AbortController();
  const busy = run('for (;;);', { signal: gone.signal });
  const waiting = run('for (;;);', { signal: AbortSignal.abort(new Error('gone before')) });
  await expect(waiting).rejects.toThrow('gone before');
  gone.abort(new Error('gone'));
  await expect(busy).rejects.toThrow('gone');
});

test('a busy reader process ends when its parent is killed', async () => {
  let connections = 0;
  let ended = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket
      .on('error', () => {})
      .on('close', () => {
        ended += 1;
      });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const body = `
    const socket = connect(task.port, '127.0.0.1');
    await new Promise((resolve) => socket.on('connect', resolve));
    for (;;);`;
  const parent = builtProgram(`
    import { runReader } from './contracts/reader-process.ts';
    await runReader({
      program: new URL(${JSON.stringify(reader(body).href)}),
      task: { port: ${port} },
      limits: ${JSON.stringify(LIMITS)},
      onMessage() {},
    });`);
  const running = spawn(process.execPath, [fileURLToPath(parent)], { stdio: 'ignore' });
  await eventually(() => connections === 1);
  running.kill('SIGKILL');
  await eventually(() => ended === 1);
  server.close();
});
