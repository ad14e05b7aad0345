import { gzipSync } from 'node:zlib';
import type { RawAnswer, RawCall } from '../../fakes/broken-upstream.ts';
import { errorEvent, goodAnswer, type Lane } from './fault-answers.ts';
import { bodyBefore, type FaultCase, type KindName } from './fault-cases.ts';

/** Answers as a good provider does, whatever it is asked. */
export const answerWell: RawAnswer = async (call) => {
  const lane = call.path.endsWith('/messages') ? 'messages' : 'bytes';
  const { stream = false, n = 1 } = call.body;
  const body = bodyOf(lane, stream, n);
  await call.write(Buffer.concat([head({ stream, length: body.length }), body]));
};

/**
 * Answers with the fault. `seen` resolves when the caller has seen what it must see before the worst comes; redirects lead
 * to the address `trap`.
 */
export function answerBadly(
  fault: FaultCase,
  { seen, trap }: { seen: () => Promise<unknown>; trap: string },
): RawAnswer {
  const { kind, lane, stream, pieces, cut } = fault;
  const wire = Buffer.concat(pieces.map(({ bytes }) => bytes));
  const body = bodyOf(lane, stream);
  const come = body.subarray(0, bodyBefore(pieces, cut));
  const good = { stream, length: body.length };

  /** Sends the bytes before the fault, in a body that can continue and end in any way. */
  const begin = async ({ write }: RawCall) => {
    const framed = come.length > 0 ? [chunk(come)] : [];
    await write(Buffer.concat([head({ stream, chunked: true }), ...framed]));
    await seen();
  };
  const cutOff = async ({ write }: RawCall) => {
    await write(wire.subarray(0, cut));
    await seen();
  };

  const plays: Record<KindName, RawAnswer> = {
    // No server listens at the address.
    refuses: () => {},
    'never answers': closed,
    async hangs(call) {
      await cutOff(call);
      await closed(call);
    },
    async 'ends the connection'(call) {
      await cutOff(call);
      call.socket.end();
    },
    async 'resets the connection'(call) {
      await cutOff(call);
      call.socket.resetAndDestroy();
    },
    async 'goes on with garbage'(call) {
      await cutOff(call);
      await call.write(Buffer.alloc(3_000, '\x00\xff{"garbage'));
      call.socket.end();
    },
    async 'ends its answer too early'(call) {
      if (fault.framing === 'chunked') {
        await begin(call);
        return void (await call.write('0\r\n\r\n'));
      }
      const length = fault.framing === 'length' ? come.length : undefined;
      await call.write(Buffer.concat([head({ stream, length }), come]));
      await seen();
      if (length === undefined) call.socket.end();
    },
    async 'tells an error inside the stream'(call) {
      await begin(call);
      await call.write(bytesOf(chunk(errorEvent(lane)), '0\r\n\r\n'));
    },
    async 'sends comments for ever'(call) {
      await begin(call);
      const timer = setInterval(() => void call.write(chunk(': still here\n\n')), 20);
      await closed(call);
      clearInterval(timer);
    },
    async 'never comes to the end of a line'(call) {
      await begin(call);
      const block = chunk(Buffer.alloc(256 * 1024, 'x'));
      // Far more than the buffers of the connection and the limits of answers together.
      for (let blocks = 0; blocks < 400; blocks += 1) if (!(await call.write(block))) return;
      throw new Error('All of an endless answer was taken.');
    },
    async 'sends one byte a packet'(call) {
      await call.write(wire.subarray(0, cut));
      for (const byte of wire.subarray(cut)) {
        await call.write(Buffer.from([byte]));
        await turn();
      }
      if (fault.framing === 'close') call.socket.end();
    },
    async 'stops for a moment'(call) {
      await call.write(wire.subarray(0, cut));
      for (let turns = 0; turns < 5; turns += 1) await turn();
      await call.write(wire.subarray(cut));
      if (fault.framing === 'close') call.socket.end();
    },
    async 'says it is shorter than it is'(call) {
      await call.write(Buffer.concat([head({ stream, length: come.length }), body]));
      await closed(call);
    },
    async 'says it is longer than it is'(call) {
      await call.write(Buffer.concat([head({ stream, length: body.length + 100 }), body]));
      await closed(call);
    },
    'answers with a page': (call) =>
      send(call, head({ type: 'text/html', length: PAGE.length }), PAGE),
    'answers with another media type': (call) =>
      send(call, head({ type: 'application/json', length: body.length }), body),
    'answers with a gzip bomb': (call) => {
      // The declared encoding decides, even if the bytes contradict it.
      const bytes = fault.seed % 2 ? body : BOMB;
      return send(
        call,
        head({ stream, length: bytes.length, more: 'Content-Encoding: gzip' }),
        bytes,
      );
    },
    'answers with nothing': (call) => send(call, head({ stream, length: 0 })),
    'answers with 204': (call) => send(call, 'HTTP/1.1 204 No Content\r\n\r\n'),
    'answers with a redirect': (call) => {
      const status = [301, 302, 303, 307, 308][fault.seed % 5];
      return send(
        call,
        `HTTP/1.1 ${status} Elsewhere\r\nLocation: ${trap}\r\nContent-Length: 0\r\n\r\n`,
      );
    },
    async 'answers with no HTTP'(call) {
      const bytes = ['SSH-2.0-canary\r\n', 'HTTP/9.9 200 OK\r\n\r\n', '\x16\x03\x01', '200\n\n'];
      await call.write(bytes[fault.seed % bytes.length] ?? '');
      call.socket.end();
    },
    'switches protocols': (call) =>
      send(call, 'HTTP/1.1 101 Switching\r\nUpgrade: canary\r\nConnection: upgrade\r\n\r\n'),
    // A client must take it, and undici does not: it asked for none. Source: RFC 9110, 15.2.
    'says 100 before it answers': (call) =>
      send(call, 'HTTP/1.1 100 Continue\r\n\r\n', head(good), body),
    'gives hints before it answers': (call) =>
      send(call, HINTS, fault.seed % 2 ? HINTS : '', head(good), body),
    'sends huge headers': (call) =>
      send(call, head({ ...good, more: `X-Canary: ${'y'.repeat(70_000)}` }), body),
    'sends odd headers': (call) => send(call, head({ ...good, more: ODD_HEADERS }), body),
    async 'sends more after the end'(call) {
      const more = goodAnswer(lane, true).slice(-4);
      const late = stream ? chunk(Buffer.concat(more.map(({ bytes }) => bytes))) : '';
      if (!stream) return await send(call, head(good), body, 'HTTP/1.1 200 OK\r\ncanary garbage');
      await send(call, head({ stream, chunked: true }), chunk(body), late, '0\r\n\r\n');
    },
    async 'sends for ever after the end'(call) {
      await send(call, head({ stream, chunked: true }), chunk(body));
      // A whole answer has to say that it ends.
      if (!stream) await call.write('0\r\n\r\n');
      const timer = setInterval(() => void call.write(chunk('canary'.repeat(100))), 10);
      await closed(call);
      clearInterval(timer);
    },
  };
  return plays[kind];
}

const PAGE = '<html><body>canary maintenance</body></html>';
const BOMB = gzipSync(Buffer.alloc(20_000_000));
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </canary>; rel=preload\r\n\r\n';
const ODD_HEADERS = [
  'X-Empty:',
  'X-Bytes: \xe9\xff\x80 \t caf\xe9',
  "X!#$%&'*+-.^_`|~: canary",
  'Set-Cookie: canary=1',
  'Set-Cookie: canary=2',
  'X-RateLimit-Remaining-Requests: canary',
  'OpenAI-Organization: canary',
  'X-Request-Id: canary',
  ...Array.from({ length: 100 }, (_, at) => `X-Many-${at}: ${at}`),
].join('\r\n');

function bodyOf(lane: Lane, stream: boolean, n = 1): Buffer {
  return Buffer.concat(goodAnswer(lane, stream, n).map(({ bytes }) => bytes));
}

function head(told: {
  stream?: boolean;
  type?: string;
  length?: number;
  chunked?: boolean;
  more?: string;
}): Buffer {
  const { type = told.stream ? 'text/event-stream' : 'application/json' } = told;
  const ends = told.chunked
    ? 'Transfer-Encoding: chunked'
    : told.length === undefined
      ? 'Connection: close'
      : `Content-Length: ${told.length}`;
  const lines = ['HTTP/1.1 200 OK', `Content-Type: ${type}`, ends, ...[told.more ?? []].flat()];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function chunk(data: Buffer | string): Buffer {
  const size = Buffer.byteLength(data).toString(16);
  return bytesOf(`${size}\r\n`, data, '\r\n');
}

async function send(call: RawCall, ...parts: Array<Buffer | string>): Promise<void> {
  await call.write(bytesOf(...parts));
}

function bytesOf(...parts: Array<Buffer | string>): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function closed({ socket }: RawCall): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
