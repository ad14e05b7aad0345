import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readOpenFilesLimit } from '../../src/http/connections.ts';
import { eventually } from '../helpers/eventually.ts';
import { runningServer } from '../helpers/http/running-server.ts';

/** Opens so many connections; tells how many of them the server keeps, once each has been answered or closed. */
async function opening(url: string, count: number) {
  const sockets = Array.from({ length: count }, () =>
    connect(Number(new URL(url).port), '127.0.0.1'),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const kept = await Promise.all(
    sockets.map(async (socket) => {
      socket.on('error', () => {});
      socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
      const heard = Promise.race([once(socket, 'data'), once(socket, 'close')]);
      const [answer] = await heard.catch(() => []);
      return Buffer.isBuffer(answer);
    }),
  );
  return { sockets, kept: kept.filter((isKept) => isKept).length };
}

test('one address holds half of the connections at most, and has room again when it closes some', async () => {
  const { url, lines } = await runningServer(() => {}, { openFiles: 160 });
  const { sockets, kept } = await opening(url, 40);
  expect(kept).toBe(20);
  const said = 'too many open connections; closing new ones';
  expect(lines.filter(({ msg }) => msg === said)).toHaveLength(1);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await opening(url, 1)).kept === 1);
});

test('a trusted proxy may hold all connections that there are, which is a quarter of the files', async () => {
  const { url } = await runningServer(() => {}, { openFiles: 160, trustedProxies: ['127.0.0.1'] });
  expect((await opening(url, 60)).kept).toBe(40);
});

test('the system says how many files may be open', () => {
  expect(readOpenFilesLimit()).toBeGreaterThan(100);
});

test('a refused request loses its connection when its body does not come', async () => {
  const { url } = await runningServer();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const closed = once(socket, 'close');
  socket.write('POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nx');
  const [answer] = await once(socket, 'data');
  expect(`${answer}`).toMatch(/^HTTP\/1\.1 404 /);
  await closed;
});
