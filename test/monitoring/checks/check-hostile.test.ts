import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { startRawTarget, startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

const { http, keyword } = setUp();

/** Sends `piece` for as long as the other side takes it. */
function endlessly(socket: Socket, start: string, piece: string): void {
  const chunk = Buffer.from(piece.repeat(Math.ceil(16_384 / piece.length)));
  const more = () => {
    while (!socket.destroyed && socket.writable) if (!socket.write(chunk)) return;
  };
  socket.once('data', () => {
    socket.write(start);
    more();
  });
  socket.on('drain', more);
}

describe('a server that never comes to an end', () => {
  test.each([
    {
      what: 'of its headers',
      start: 'HTTP/1.1 200 OK\r\n',
      piece: 'X-More: and more\r\n',
      reason: 'the headers of the answer are too large',
    },
    {
      what: 'of one header',
      start: 'HTTP/1.1 200 OK\r\nX: ',
      piece: 'more',
      reason: 'the headers of the answer are too large',
    },
    {
      what: 'of answers before the answer',
      start: '',
      piece: 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n',
      reason: 'it sends interim answers (1xx) but no final one',
    },
    {
      what: 'of its trailers',
      start: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n',
      piece: 'X-More: and more\r\n',
      reason: 'the headers of the answer are too large',
    },
  ])('is disconnected when it sends $what', async ({ start, piece, reason }) => {
    const target = await startRawTarget((socket) => endlessly(socket, start, piece));
    expect(await http(target.url)).toMatchObject({ ok: false, outcome: 'protocol', reason });
    await eventually(() => target.closed() === 1);
  });

  test('is disconnected when it sends an endless chunk extension', async () => {
    const target = await startRawTarget((socket) =>
      endlessly(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;', 'extension'),
    );
    expect(await http(target.url)).toMatchObject({ ok: false, outcome: 'protocol' });
    await eventually(() => target.closed() === 1);
  });

  test('passes with an endless body, which is read to the limit', async () => {
    const target = await startRawTarget((socket) =>
      endlessly(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'body'),
    );
    expect(await http(target.url)).toMatchObject({ ok: true });
    expect(await keyword(target.url, 'Cart')).toMatchObject({ ok: false, outcome: 'keyword' });
    await eventually(() => target.closed() === 2);
  });
});

test('a server that switches to another protocol is disconnected at once', async () => {
  const target = await startRawTarget((socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    ),
  );
  expect(await http(target.url)).toMatchObject({
    ok: false,
    outcome: 'protocol',
    reason: 'it switched to another protocol unasked',
  });
});

test.each([
  { what: 'two lengths', bytes: 'Content-Length: 4\r\nContent-Length: 5\r\n\r\nCart!' },
  {
    what: 'a length and chunks',
    bytes: 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  },
  { what: 'a length below zero', bytes: 'Content-Length: -1\r\n\r\nCart' },
  { what: 'a header without a name', bytes: ': x\r\n\r\nCart' },
  { what: 'a chunk size that is none', bytes: 'Transfer-Encoding: chunked\r\n\r\nzz\r\nCart' },
])('an answer with $what is a failure with words', async ({ bytes }) => {
  const target = await startRawTarget((socket) => {
    socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${bytes}`));
  });
  const result = await keyword(target.url, 'Cart');
  expect(result).toMatchObject({ ok: false, outcome: 'protocol' });
  expect(result.reason).toMatch(/^the answer is not valid HTTP \(HPE_\w+\)$/);
});

test('a bomb inside a bomb costs no more than any other page', async () => {
  const bomb = gzipSync(gzipSync(Buffer.alloc(100 * 1024 * 1024), { level: 1 }));
  const target = await startWebTarget((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(bomb),
  );
  const before = process.memoryUsage().rss;
  expect(await keyword(target.url, 'Cart')).toMatchObject({
    ok: false,
    reason: 'keyword not found in the first 1024 KB of text; the rest was not read',
  });
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
});

test.each([
  ['application/ld+json', '{"a":1}', '7 bytes of JSON'],
  ['text/xml; charset=utf-8', '<a/>', '4 bytes of XML'],
  ['image/png', 'png', '3 bytes of text'],
])('a KEYWORD check says what it searched: %s', async (type, body, where) => {
  const target = await startWebTarget((_request, response) =>
    response.writeHead(200, { 'content-type': type }).end(body),
  );
  expect((await keyword(target.url, 'Cart')).reason).toBe(`keyword not found in ${where}`);
});

test('a KEYWORD check says that there was nothing to search', async () => {
  const target = await startWebTarget((_request, response) => response.writeHead(204).end());
  expect((await keyword(target.url, 'Cart')).reason).toBe('keyword not found: the answer is empty');
});

test('a name that is not resolved in time is a timeout', async () => {
  const { http } = setUp({ lookup: () => new Promise(() => {}) });
  expect(await http('http://slow.example/', { timeout_seconds: 1 })).toMatchObject({
    ok: false,
    outcome: 'timeout',
    reason: 'the name could not be looked up within 1 s',
  });
});
