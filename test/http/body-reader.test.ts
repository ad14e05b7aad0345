import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createBodyReader } from '../../src/http/body-reader.ts';
import { eventually } from '../helpers/eventually.ts';
import { post, runningServer } from '../helpers/http/running-server.ts';

const PATH = '/read';
const ROOM_BYTES = 400_000;
const LIMIT_BYTES = 100_000;

/** A server with one route that reads bodies, behind a trusted proxy that says for whom it asks. */
async function startReading({ timeMs = 60_000 } = {}) {
  const readBody = createBodyReader({ roomBytes: ROOM_BYTES, timeMs });
  const running = await runningServer(
    ({ server }) => {
      server.removeAllContentTypeParsers();
      server.addContentTypeParser('*', (_request, _payload, done) => done(null));
      server.post(PATH, async ({ raw, ip }, reply) => {
        const options = { sender: ip, limitBytes: LIMIT_BYTES, response: reply.raw };
        return { bytes: (await readBody(raw, options)).length };
      });
    },
    { trustedProxies: ['127.0.0.1'] },
  );
  /** A request that announces some bytes and sends some of them. */
  async function begin(address: string, { announced = LIMIT_BYTES, sent = 0 } = {}) {
    const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    const head = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${address}\r\ncontent-length: ${announced}\r\n\r\n`;
    socket.write(head + 'x'.repeat(sent));
    return readingOf(socket);
  }
  const ask = (address: string, body: string) =>
    running.ask(PATH, post(body, { 'x-forwarded-for': address }));
  return { begin, ask, lines: running.lines };
}

/** Bytes received over a connection. */
function readingOf(socket: Socket) {
  let text = '';
  socket.on('data', (part: Buffer) => {
    text += part;
  });
  socket.on('error', () => {});
  return { socket, said: () => text };
}

test('a sender that announces much and sends nothing takes no room', async () => {
  const { begin, ask } = await startReading();
  for (let count = 0; count < 20; count += 1) await begin('192.0.2.1');
  expect((await ask('192.0.2.1', 'x'.repeat(LIMIT_BYTES))).body).toEqual({ bytes: LIMIT_BYTES });
});

test('one sender’s unfinished bodies fill its share, and others are still read', async () => {
  const { begin, ask, lines } = await startReading();
  const sent = LIMIT_BYTES - 1;
  const bodies: Array<ReturnType<typeof readingOf>> = [];
  for (let count = 0; count < 8; count += 1) bodies.push(await begin('192.0.2.1', { sent }));
  // Two of them do not fit into half of the room, as they come in several parts.
  await eventually(() => bodies.filter(({ said }) => said() !== '').length >= 6);
  const refused = bodies.map(({ said }) => said()).filter((text) => text !== '');
  for (const text of refused) {
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toMatch(/retry-after: 5\r\n/);
  }
  expect(lines.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  expect((await ask('192.0.2.2', 'x'.repeat(LIMIT_BYTES))).body).toEqual({ bytes: LIMIT_BYTES });
  // Closing a connection releases its memory.
  for (const { socket } of bodies) socket.destroy();
  await eventually(async () => (await ask('192.0.2.1', 'x'.repeat(LIMIT_BYTES))).status === 200);
});

test('a body in parts of one byte takes as much room as it needs memory', async () => {
  const { begin } = await startReading();
  const { socket, said } = await begin('192.0.2.1', { announced: 0 });
  const chunks = '1\r\nx\r\n'.repeat(2_000);
  socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
  await eventually(() => /HTTP\/1\.1 503 /.test(said()));
});

test('a body that is larger than the limit is refused, announced or not', async () => {
  const { begin, ask } = await startReading();
  expect((await ask('192.0.2.1', 'x'.repeat(LIMIT_BYTES + 1))).status).toBe(413);
  const announced = await begin('192.0.2.1', { announced: LIMIT_BYTES + 1 });
  await eventually(() => announced.said().startsWith('HTTP/1.1 413 '));
});

test('a body that does not come in time is given up, and its connection is closed', async () => {
  const { begin } = await startReading({ timeMs: 50 });
  const { socket, said } = await begin('192.0.2.1', { sent: 10 });
  const closed = once(socket, 'close');
  await eventually(() => said().startsWith('HTTP/1.1 408 '));
  expect(said()).toContain('The request body did not arrive within 0.05 s. Send it faster.');
  await closed;
});
