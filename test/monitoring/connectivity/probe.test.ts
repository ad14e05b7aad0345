import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { createProbe, reach } from '../../../src/monitoring/connectivity/probe.ts';

/** No host is there: a connection to the broadcast address is refused by this machine. Source: RFC 919. */
const NOWHERE = '255.255.255.255';

async function listening<T>(use: (port: number) => Promise<T>): Promise<T> {
  const server = createServer((socket) => socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use((server.address() as AddressInfo).port);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

test('an anchor that takes the connection answers', async () => {
  await listening(async (port) => {
    await expect(reach({ host: '127.0.0.1', port }, 5_000)).resolves.toBeUndefined();
  });
});

test('an anchor that refuses the connection answers too', async () => {
  const port = await listening(async (taken) => taken);
  await expect(reach({ host: '127.0.0.1', port }, 5_000)).resolves.toBeUndefined();
});

test('a probe without a route to its anchor has no answer', async () => {
  await expect(reach({ host: NOWHERE, port: 53 }, 5_000)).rejects.toThrow('ENETUNREACH');
});

test('a probe of a silent anchor has no answer in time', async () => {
  const { port, close } = await silentServer();
  try {
    await expect(reach({ host: '127.0.0.1', port }, 200)).rejects.toThrow('aborted');
  } finally {
    await close();
  }
});

test('a probe with no anchor but this machine says that the network is there', async () => {
  const port = await listening(async (taken) => taken);
  for (const anchors of [[], [`127.0.0.1:${port}`], ['127.0.0.53'], ['::1', '[::1]:53']]) {
    const probe = createProbe({ anchors });
    expect(await probe.isThere()).toBe(true);
    expect(probe.canTell()).toBe(false);
  }
});

test('a probe says that the network is gone when no anchor answers, whatever this machine does', async () => {
  await listening(async (port) => {
    const anchors = [NOWHERE, `${NOWHERE}:80`, `127.0.0.1:${port}`];
    expect(await createProbe({ anchors }).isThere()).toBe(false);
  });
});

test('a probe without anchors uses the current resolvers of this machine', async () => {
  let resolvers = ['127.0.0.53', '[::1]:5353', '::1'];
  const probe = createProbe({ resolvers: () => resolvers });
  expect([probe.canTell(), await probe.isThere()]).toEqual([false, true]);
  resolvers = ['127.0.0.53', NOWHERE];
  expect([probe.canTell(), await probe.isThere()]).toEqual([true, false]);
});

/** A server on a thread that stands still, with its queue full: who comes next gets no answer from the kernel. */
async function silentServer() {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(workerData), 0, 0);
    });`;
  const worker = new Worker(code, { eval: true, workerData: new SharedArrayBuffer(4) });
  const [port]: number[] = await once(worker, 'message');
  const queued: Socket[] = [];
  for (let place = 0; place < 2; place += 1) {
    const socket = connect({ host: '127.0.0.1', port: port ?? 0 });
    socket.on('error', () => {});
    queued.push(socket);
    await once(socket, 'connect');
  }
  return {
    port: port ?? 0,
    async close() {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}
