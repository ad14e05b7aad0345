import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RequestEnd } from '../../../src/store/usage.ts';
import { startBrokenUpstream } from '../../fakes/broken-upstream.ts';
import { eventually } from '../../helpers/eventually.ts';
import { type Frame, goodAnswer } from '../../helpers/gateway/fault-answers.ts';
import { chatRequest, connectCaller, type RequestLines } from '../../helpers/gateway/raw-caller.ts';
import {
  NO_OLLAMA,
  startGateway,
  startWithProviders,
  textModel,
} from '../../helpers/gateway/running-gateway.ts';
import { long } from '../../helpers/long.ts';

const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
const plain = { model: 'one', messages, stream: false };
const streamed = { ...plain, stream: true };

/** Long enough to fail the test if a call under way is forgotten. */
const PATIENT = { graceMs: 100_000 };

/** More than the buffers of a connection hold. */
const LONG_ANSWER = 'x'.repeat(10_000_000);

const SENT_AHEAD = long ? 12 : 4;

type Running = Awaited<ReturnType<typeof startWithProviders>>;

/** The gateway can stop at once, since no call is left under way, and has written all its records: these. */
async function endsOf({ gateway, usage }: Running): Promise<string[]> {
  const closed = gateway.close().then(() => true);
  expect(await Promise.race([closed, pause(45_000, false)])).toBe(true);
  return (await usage(0)).map(({ end }) => end);
}

describe('requests sent ahead on one connection', () => {
  test('are answered in their order, each in its own way', async () => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    openai.answerWith((body) => `Echo ${body.messages[0].content}`);
    const asking = (content: string, stream = false, model = 'one') =>
      chatRequest(key, { model, messages: [{ role: 'user', content }], stream });
    const { socket, received } = await connectCaller(url);
    socket.write(asking('<1>') + asking('<2>', true) + asking('<3>', false, 'none'));
    await eventually(() => received().includes('model_not_found'));
    expect(received().match(/HTTP\/1\.1 \d+|<\d>/g)).toEqual([
      'HTTP/1.1 200',
      '<1>',
      'HTTP/1.1 200',
      '<2>',
      'HTTP/1.1 404',
    ]);
    socket.destroy();
    expect((await endsOf(running)).sort()).toEqual(['complete', 'complete', 'refused']);
  });

  test.each([false, true])('all end when the client leaves, streamed: %s', async (stream) => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    openai.failWith(stream ? { kind: 'endless' } : { kind: 'hang-before-headers' });
    const { socket } = await connectCaller(url);
    socket.write(chatRequest(key, { ...plain, stream }).repeat(SENT_AHEAD));
    await eventually(() => openai.calls.length === SENT_AHEAD);
    socket.destroy();
    await eventually(() => openai.calls.every(({ aborted }) => aborted));
    expect(await endsOf(running)).toEqual(Array(SENT_AHEAD).fill('client_gone'));
  });
});

describe('a client that does not read its answer', () => {
  test.each([
    ['a whole one', plain, undefined],
    ['a streamed one', streamed, { kind: 'endless' }],
  ] as const)('is gone after the limit: %s', async (_name, body, fault) => {
    const running = await startWithProviders({ ...PATIENT, drainMs: 300 });
    const { url, key, openai } = running;
    openai.answerWith(() => [LONG_ANSWER]);
    if (fault) openai.failWith(fault);
    const { socket } = await connectCaller(url);
    socket.pause();
    socket.write(chatRequest(key, body));
    await eventually(() => openai.calls.length === 1);
    expect(await endsOf(running)).toEqual(['client_gone']);
    await eventually(() => openai.calls[0]?.aborted || openai.calls[0]?.finished);
  });

  test('A client that reads nothing and leaves is not recorded as answered', async () => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    openai.answerWith(() => [LONG_ANSWER]);
    const { socket, length } = await connectCaller(url);
    socket.once('data', () => socket.pause());
    socket.write(chatRequest(key, plain));
    await eventually(() => length() > 0 && openai.calls[0]?.finished);
    socket.destroy();
    expect(await endsOf(running)).toEqual(['client_gone']);
  });

  test('A client that reads slowly gets its whole answer', async () => {
    const drainMs = 1_500;
    const running = await startWithProviders({ ...PATIENT, drainMs });
    const { url, key, openai } = running;
    openai.answerWith(() => [LONG_ANSWER]);
    /** Reads a little, waits, and so on; gives how long that took, and the longest time without anything read. */
    async function readSlowly() {
      const { socket, length } = await connectCaller(url);
      const beganMs = performance.now();
      let lastMs = beganMs;
      let longestGapMs = 0;
      socket.on('data', () => {
        const nowMs = performance.now();
        longestGapMs = Math.max(longestGapMs, nowMs - lastMs);
        lastMs = nowMs;
        if (length() >= LONG_ANSWER.length) return;
        socket.pause();
        setTimeout(() => socket.resume(), 15);
      });
      socket.write(chatRequest(key, plain));
      const isWhole = () => length() > LONG_ANSWER.length;
      await eventually(() => isWhole() || socket.destroyed);
      longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
      socket.destroy();
      return { isWhole: isWhole(), tookMs: performance.now() - beganMs, longestGapMs };
    }
    let read = await readSlowly();
    // Repeats the attempt if the machine stood still for so long that the client counted as gone.
    while (!read.isWhole && read.longestGapMs > drainMs / 2) read = await readSlowly();
    expect(read.isWhole).toBe(true);
    // Otherwise nothing was seen of the limit.
    expect(read.tookMs).toBeGreaterThan(drainMs);
    expect((await endsOf(running)).at(-1)).toBe('complete');
  });
});

describe('a client that does not send all of its request', () => {
  test.each([
    ['the headers', ''],
    ['half of the body', '{"model":"one","mess'],
  ])('and leaves after %s is recorded, and no upstream is called', async (_name, body) => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    const { socket } = await connectCaller(url);
    const headers = { 'content-length': '500', expect: '100-continue' };
    socket.write(chatRequest(key, plain, { headers, body }));
    // The answer 100 says that the request has arrived so far.
    await once(socket, 'data');
    socket.destroy();
    await running.usage(1);
    expect(await endsOf(running)).toEqual(['client_gone']);
    expect(openai.calls).toEqual([]);
  });

  test('A client that ends its request early gets a 400', async () => {
    const running = await startWithProviders(PATIENT);
    const { socket, received, closed } = await connectCaller(running.url, { allowHalfOpen: true });
    const headers = { 'content-length': '500' };
    socket.end(chatRequest(running.key, plain, { headers, body: '{"model"' }));
    await closed;
    expect(received()).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    expect(await endsOf(running)).toEqual(['client_gone']);
  });

  test('A client that does not send its request in time gets a 408', async () => {
    const running = await startWithProviders(PATIENT);
    const { url, key, kit, openai } = running;
    // The server checks these every second.
    kit.server.server.headersTimeout = 100;
    kit.server.server.requestTimeout = 200;
    const whole = chatRequest(key, plain);
    const callers = await Promise.all(
      [20, whole.length - 20].map(async (length) => {
        const cancellation = await connectCaller(url);
        cancellation.socket.write(whole.slice(0, length));
        let sent = length;
        const drip = setInterval(() => {
          sent += 1;
          if (sent < whole.length) cancellation.socket.write(whole.slice(sent - 1, sent));
        }, 300);
        void cancellation.closed.then(() => clearInterval(drip));
        return cancellation;
      }),
    );
    for (const { closed, received } of callers) {
      await closed;
      expect(received()).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
    }
    expect(openai.calls).toEqual([]);
    // The other one had not shown its key yet.
    expect(await endsOf(running)).toEqual(['client_gone']);
  });
});

/**
 * A caller that closes its side of the connection looks like one that has gone, and is taken for it: waiting to see would
 * mean that nobody who leaves is noticed before there is something to send.
 */
test.each([false, true])(
  'a caller that half-closes gets no answer, streamed: %s',
  async (stream) => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    const release = openai.holdChunks();
    const { socket, received, closed } = await connectCaller(url, { allowHalfOpen: true });
    socket.end(chatRequest(key, { ...plain, stream }));
    await closed;
    await eventually(() => openai.calls.every(({ aborted }) => aborted));
    release();
    expect(received()).not.toContain('Hello');
    expect(await endsOf(running)).toEqual(['client_gone']);
  },
);

describe('a request', () => {
  const chunked = { 'content-length': undefined, 'transfer-encoding': 'chunked' };
  const inChunks = (text: string, size: number) =>
    (text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [])
      .map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
      .join('')
      .concat('0\r\n\r\n');
  const text = JSON.stringify(plain);
  const good = /^HTTP\/1\.1 200 .*"content":"Hello from/s;
  const refusal = (status: number, code: string) =>
    new RegExp(`^HTTP/1\\.1 ${status} .*"code":"${code}"`, 's');

  type Row = [string, RequestLines, RegExp, ...RequestEnd[]];

  test.each<Row>([
    ['in chunks', { headers: chunked, body: inChunks(text, 7) }, good, 'complete'],
    ['in chunks of a byte', { headers: chunked, body: inChunks(text, 1) }, good, 'complete'],
    [
      'that waits for a 100',
      { headers: { expect: '100-continue' } },
      /^HTTP\/1\.1 100 .*HTTP\/1\.1 200 /s,
      'complete',
    ],
    ['that expects more than that', { headers: { expect: 'a miracle' } }, /^HTTP\/1\.1 417 /],
    ['of HTTP/1.0', { version: '1.0', headers: { host: undefined } }, good, 'complete'],
    ['without a host', { headers: { host: undefined } }, /^HTTP\/1\.1 400 /],
    ['of another HTTP', { version: '9.9' }, refusal(400, 'invalid_request')],
    ['to another path', { path: '/v1/chat/completions/' }, refusal(404, 'not_found')],
    ['to a broken path', { path: '/v1/chat/%completions' }, /^HTTP\/1\.1 400 /],
    ['by GET', { method: 'GET', body: '' }, refusal(405, 'method_not_allowed')],
    ['with no body', { body: '' }, refusal(400, 'invalid_json'), 'refused'],
    [
      'with another media type',
      { headers: { 'content-type': 'text/plain' } },
      refusal(415, 'unsupported_media_type'),
      'refused',
    ],
    [
      'in an encoding',
      { headers: { 'content-encoding': 'gzip', 'content-length': '2' }, body: '\x1f\x8b' },
      refusal(400, 'invalid_json'),
      'refused',
    ],
    [
      'with two lengths',
      { headers: { 'transfer-encoding': 'chunked' } },
      refusal(400, 'invalid_request'),
    ],
    [
      'with broken chunks',
      { headers: chunked, body: 'not-hex\r\n' },
      /^HTTP\/1\.1 400 /,
      'client_gone',
    ],
    [
      'nested deeply',
      { body: `{"messages":${'['.repeat(1_000_000)}` },
      refusal(400, 'invalid_json'),
      'refused',
    ],
    ['of 10 MB', { body: 'x'.repeat(10_000_000) }, refusal(413, 'request_too_large'), 'refused'],
    [
      'of 10 MB in chunks',
      { headers: chunked, body: inChunks('x'.repeat(10_000_000), 100_000) },
      refusal(413, 'request_too_large'),
      'refused',
    ],
    [
      'that says it has 10 MB',
      { headers: { 'content-length': '10000000' } },
      refusal(413, 'request_too_large'),
      'refused',
    ],
    [
      'with huge headers',
      { headers: { 'x-long': 'x'.repeat(20_000) } },
      refusal(431, 'request_too_large'),
    ],
    [
      'with bytes in its headers',
      { headers: { 'x-odd': '\xe9\xff', 'x!#$%': '' } },
      good,
      'complete',
    ],
  ])('%s is answered, and recorded if it is ours', async (_name, lines, answer, ...ends) => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    const { socket, received, closed } = await connectCaller(url);
    socket.write(chatRequest(key, plain, lines), 'latin1');
    await eventually(() => answer.test(received()));
    expect(openai.calls).toHaveLength(ends.includes('complete') ? 1 : 0);
    // Unread bytes of a request would be taken for the next one.
    if (ends.includes('refused') && /connection: close/i.test(received())) await closed;
    socket.destroy();
    expect(await endsOf(running)).toEqual(ends);
  });

  test('longer than it says is refused as a whole', async () => {
    const running = await startWithProviders(PATIENT);
    const { url, key, openai } = running;
    openai.failWith({ kind: 'hang-before-headers' });
    const { socket, received, closed } = await connectCaller(url);
    socket.write(`${chatRequest(key, plain)}and more`);
    await closed;
    expect(received()).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    expect(await endsOf(running)).toEqual(['client_gone']);
    await eventually(() => openai.calls.every(({ aborted }) => aborted));
  });

  test('leaves the connection for the next one, also after a refusal', async () => {
    const running = await startWithProviders(PATIENT);
    const { url, key } = running;
    const { socket, received } = await connectCaller(url);
    const answers = () => received().match(/HTTP\/1\.1 \d+/g) ?? [];
    const bodies = [plain, { ...plain, model: 'none' }, streamed, { ...plain, n: 'x' }, plain];
    for (const [at, body] of bodies.entries()) {
      socket.write(chatRequest(key, body));
      await eventually(() => answers().length === at + 1 && /[}\n]$/.test(received()));
    }
    expect(answers().map((line) => line.slice(-3))).toEqual(['200', '404', '200', '400', '200']);
    socket.destroy();
    expect(await endsOf(running)).toHaveLength(5);
  });
});

test.each([
  ['ends with [DONE] when it is whole', undefined, /"content":" provider\.".*data: \[DONE\]\n\n$/s],
  [
    'ends with an error when it broke',
    { kind: 'error-event', afterChunks: 2 },
    /data: \{"error":[^\n]*\n\n$/,
  ],
] as const)('over HTTP/1.0 a stream %s', async (_name, fault, end) => {
  const running = await startWithProviders(PATIENT);
  const { url, key, openai } = running;
  if (fault) openai.failWith(fault);
  const { socket, received, closed } = await connectCaller(url);
  socket.write(chatRequest(key, streamed, { version: '1.0' }));
  await closed;
  expect(received()).toMatch(end);
  expect(received().includes('[DONE]')).toBe(fault === undefined);
  expect(await endsOf(running)).toEqual([fault ? 'upstream_error' : 'complete']);
});

describe('a client that pauses', () => {
  /** Passed on as bytes, and read as objects. */
  const models = ['one', 'repaired'];

  /** Longer than a busy machine may hold up the upstream, which lives in this process. */
  const STALL_MS = 3_000;

  /** A gateway of little patience over an upstream that sends more than the buffers hold, and then `last`. */
  async function startWithMuch(model: string, last: readonly Frame[]) {
    const [opening, word] = goodAnswer('bytes', true);
    const frame = String(word?.bytes).replace('Zwölf', `<Zwölf>${'x'.repeat(20_000)}`);
    const upstream = await startBrokenUpstream(async ({ write }) => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';
      await write(`${head}${opening?.bytes}`);
      await write(frame.repeat(800));
      await write(Buffer.concat(last.map(({ bytes }) => bytes)));
    });
    const at = { apiKey: 'key-0123456789', baseUrl: upstream.url };
    const running = await startGateway({
      catalog: {
        models: [textModel('one', 'openai'), textModel('repaired', 'mistral')],
      },
      providers: { ...NO_OLLAMA, openai: at, mistral: at },
      times: { ...PATIENT, stallMs: STALL_MS, drainMs: 100_000 },
    });
    const cancellation = await connectCaller(running.url);
    cancellation.socket.pause();
    cancellation.socket.write(chatRequest(running.key, { ...streamed, model }));
    await pause(1.5 * STALL_MS);
    cancellation.socket.resume();
    return { ...running, cancellation };
  }

  test('A client that pauses for longer than a provider may still gets its answer', async () => {
    const last = goodAnswer('bytes', true).slice(-3);
    const all = await Promise.all(models.map((model) => startWithMuch(model, last)));
    for (const { cancellation, usage } of all) {
      await eventually(() => cancellation.tail().endsWith('data: [DONE]\n\n\r\n0\r\n\r\n'));
      expect(cancellation.received().match(/<Zwölf>/g)).toHaveLength(800);
      expect((await usage(1)).map(({ end }) => end)).toEqual(['complete']);
    }
  });

  test('does not wait for ever for a provider that is silent afterwards', async () => {
    const all = await Promise.all(models.map((model) => startWithMuch(model, [])));
    for (const { cancellation, usage } of all) {
      await cancellation.closed;
      expect(cancellation.received()).toContain('"code":"upstream_timeout"');
      expect((await usage(1)).map(({ end }) => end)).toEqual(['upstream_error']);
    }
  });
});

test.each([
  ['the rest of a request', undefined],
  ['the reader of an answer', plain],
  ['the reader of a streamed answer', streamed],
])('a gateway that stops does not wait for %s', async (_name, body) => {
  const running = await startWithProviders({ graceMs: 50 });
  const { url, key, openai } = running;
  openai.answerWith(() => [LONG_ANSWER]);
  const { socket, received } = await connectCaller(url);
  if (body) {
    socket.pause();
    socket.write(chatRequest(key, body));
    await eventually(() => openai.calls[0]?.finished || (openai.calls[0]?.sentChunks ?? 0) > 0);
  } else {
    const headers = { 'content-length': '500', expect: '100-continue' };
    socket.write(chatRequest(key, plain, { headers, body: '{' }));
    // The answer 100 says that the request has arrived so far.
    await once(socket, 'data');
  }
  const ends = await endsOf(running);
  if (body) return expect(ends).toHaveLength(1);
  await eventually(() => received().includes('The gateway is stopping'));
  expect(ends).toEqual(['upstream_error']);
});
