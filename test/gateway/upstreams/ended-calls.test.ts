import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { startBrokenUpstream } from '../../fakes/broken-upstream.ts';
import { eventually } from '../../helpers/eventually.ts';
import { goodAnswer } from '../../helpers/gateway/fault-answers.ts';
import { answerWell } from '../../helpers/gateway/fault-play.ts';
import { chatRequest, connectCaller } from '../../helpers/gateway/raw-caller.ts';
import { NO_OLLAMA, startGateway, testCatalog } from '../../helpers/gateway/running-gateway.ts';
import { long } from '../../helpers/long.ts';

const messages = [{ role: 'user', content: 'Why is the sky blue?' }];

/** Far more than may be held. */
const CALLS = long ? 20 : 5;
const SENT_AHEAD = long ? 40 : 15;

/** A gateway over one upstream in the places of OpenAI and Groq. */
async function startWithUpstream() {
  const upstream = await startBrokenUpstream(answerWell);
  const at = { apiKey: 'key-0123456789', baseUrl: `${upstream.url}/v1` };
  const running = await startGateway({
    catalog: testCatalog,
    providers: { ...NO_OLLAMA, openai: at, groq: at },
  });
  return { ...running, upstream };
}

/** Asks V8 to collect its garbage now. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

describe('a call that has ended leaves nothing in memory', () => {
  const forEver = () => new Promise<void>(() => {});
  const [opening, ...rest] = goodAnswer('bytes', true);
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n';

  test.each([
    ['that was whole', {}, false],
    ['that was streamed', { stream: true }, false],
    ['in variants', { model: 'single', n: 2 }, false],
    ['in streamed variants', { model: 'single', n: 2, stream: true }, false],
    ['that was refused', { model: 'none' }, false],
    ['that its caller left', {}, true],
    ['that its caller left in mid-stream', { stream: true }, true],
  ])('%s', async (_name, fields, leaves) => {
    const { url, key, kit, upstream } = await startWithUpstream();
    if (leaves) {
      upstream.answerWith(async ({ body, write }) => {
        if (body.stream) await write(`${head}${opening?.bytes}${rest[0]?.bytes}`);
        await forEver();
      });
    }
    const answers: Array<WeakRef<ServerResponse>> = [];
    kit.server.server.on('request', (_request, response) => answers.push(new WeakRef(response)));
    for (let call = 0; call < CALLS; call += 1) {
      const { socket, received } = await connectCaller(url);
      const headers = { connection: leaves ? 'keep-alive' : 'close' };
      socket.write(chatRequest(key, { model: 'one', messages, ...fields }, { headers }));
      const come = () => received().includes('Zw') || received().includes('error');
      await eventually(() => (leaves && !('stream' in fields) ? upstream.busy() > 0 : come()));
      socket.destroy();
      await eventually(() => upstream.busy() === 0);
    }
    // Two may be held by what handles the next one.
    await eventually(() => {
      collectGarbage();
      return answers.filter((answer) => answer.deref()).length <= 2;
    });
    expect(answers).toHaveLength(CALLS);
  });

  test('A connection with many pipelined requests leaves nothing in memory', async () => {
    const { url, key, kit } = await startWithUpstream();
    const listeners = new Promise<() => number>((resolve) => {
      kit.server.server.once('connection', (socket) =>
        resolve(() => socket.listenerCount('close')),
      );
    });
    const { socket, received } = await connectCaller(url);
    const count = await listeners;
    const before = count();
    socket.write(chatRequest(key, { model: 'one', messages }).repeat(SENT_AHEAD));
    await eventually(() => received().match(/HTTP\/1\.1 200/g)?.length === SENT_AHEAD);
    await eventually(() => count() <= before + 2);
  });
});

test('a stream that broke counts against its upstream, until one came whole', async () => {
  const { post, upstream, logged } = await startWithUpstream();
  const circuitBreaker = () => logged.filter((line) => line.includes('circuit opened')).length;
  const ask = () => post({ model: 'one', messages, stream: true }).catch(() => undefined);
  const broken = goodAnswer('bytes', true).slice(0, 3);
  const fail = () =>
    upstream.answerWith(({ socket }) => {
      const body = Buffer.concat(broken.map(({ bytes }) => bytes));
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${body}`);
    });
  for (const round of [1, 2]) {
    fail();
    await ask();
    await ask();
    upstream.answerWith(answerWell);
    await ask();
    expect(circuitBreaker(), `after round ${round}`).toBe(0);
  }
  fail();
  for (let times = 0; times < 3; times += 1) await ask();
  await eventually(() => circuitBreaker() === 1);
});

test('a comment never comes after the end of a stream', async () => {
  const upstream = await startBrokenUpstream(answerWell);
  const { url, key } = await startGateway({
    catalog: testCatalog,
    providers: { ...NO_OLLAMA, openai: { apiKey: 'k-0123456789', baseUrl: `${upstream.url}/v1` } },
    times: { pingMs: 10 },
  });
  const { socket, received } = await connectCaller(url);
  socket.write(chatRequest(key, { model: 'one', messages, stream: true }));
  await eventually(() => received().endsWith('0\r\n\r\n'));
  const all = received();
  // Many times the pause between two comments, because an absence has no event to wait for.
  await pause(200);
  expect(received()).toBe(all);
});

test.each(['one', 'single'])(
  'the usage of a stream whose provider tells none is estimated for who asked for it: %s',
  async (model) => {
    const { client, upstream, usage } = await startWithUpstream();
    upstream.answerWith(async ({ write }) => {
      const frames = goodAnswer('bytes', true).filter(({ passes, ends }) => passes || ends);
      const body = Buffer.concat(frames.map(({ bytes }) => bytes));
      const length = `Content-Length: ${body.length}`;
      await write(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${length}\r\n\r\n${body}`);
    });
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Why is the sky blue?' }],
      stream: true,
      stream_options: { include_usage: true },
      ...(model === 'single' && { n: 2 }),
    });
    const told = [];
    for await (const { usage, choices } of stream) if (choices.length === 0) told.push(usage);
    const [record] = await usage(1);
    expect(record).toMatchObject({ end: 'complete', estimated: true });
    expect(record?.promptTokens).toBeGreaterThan(0);
    expect(record?.completionTokens).toBeGreaterThan(0);
    expect(told).toMatchObject([
      { prompt_tokens: record?.promptTokens, completion_tokens: record?.completionTokens },
    ]);
  },
);
