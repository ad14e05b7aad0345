import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { CatalogInput } from '../../../src/gateway/catalog/catalog-schema.ts';
import { type RawAnswer, startBrokenUpstream } from '../../fakes/broken-upstream.ts';
import { eventually } from '../../helpers/eventually.ts';
import { goodAnswer, LANES, type Lane, SAID } from '../../helpers/gateway/fault-answers.ts';
import { answerWell } from '../../helpers/gateway/fault-play.ts';
import { chatRequest, connectCaller } from '../../helpers/gateway/raw-caller.ts';
import { NO_OLLAMA, startGateway, textModel } from '../../helpers/gateway/running-gateway.ts';
import { listen } from '../../helpers/http/listen.ts';
import { long } from '../../helpers/long.ts';

const RUNS = long ? 40 : 1;

/** Wait before a request is sent again. */
const RETRY_AFTER_MS = 2_000;

const lanes = Object.keys(LANES) as Lane[];
const forEver = () => new Promise<void>(() => {});
const messages = [{ role: 'user', content: 'Why is the sky blue?' }];

const catalog: CatalogInput = {
  models: [...lanes.map((id) => textModel(id, LANES[id].provider)), textModel('other', 'xai')],
};

/** Starts a gateway over one upstream in the place of all providers, and another one in the place of xAI. */
async function startLanes(answer: RawAnswer) {
  const upstream = await startBrokenUpstream(answer);
  const other = await startBrokenUpstream(forEver);
  const at = ({ url }: { url: string }) => ({ apiKey: 'key-0123456789', baseUrl: `${url}/v1` });
  const providers = lanes.map((lane) => [LANES[lane].provider, at(upstream)] as const);
  const running = await startGateway({
    catalog,
    providers: { ...NO_OLLAMA, ...Object.fromEntries(providers), xai: at(other) },
    // Long enough to fail the test if a call under way is forgotten.
    times: { graceMs: 100_000 },
  });
  return { ...running, upstream, other };
}

/** Parts of the answer that arrive before the caller leaves. */
const PHASES = {
  'before the first byte': { stream: true, body: undefined },
  'before the first event': { stream: true, body: 0 },
  'in mid-stream': { stream: true, body: 0.7 },
  'before a whole answer': { stream: false, body: undefined },
  'in the middle of a whole answer': { stream: false, body: 0.7 },
} as const;

/** Begins a good answer, and never goes on. */
function beginning(lane: Lane, phase: keyof typeof PHASES): RawAnswer {
  const { stream, body: part } = PHASES[phase];
  const body = Buffer.concat(goodAnswer(lane, stream).map(({ bytes }) => bytes));
  const type = stream ? 'text/event-stream' : 'application/json';
  return async (call) => {
    if (part === undefined) return await forEver();
    const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    await call.write(head);
    await call.write(body.subarray(0, body.length * part));
    await forEver();
  };
}

/** The ways in which a connection ends. */
const LEAVINGS = ['destroy', 'resetAndDestroy', 'end'] as const;

test.each(lanes)(
  'a client of %s that leaves ends its calls, however much of the answer has come',
  async (lane) => {
    const { n } = LANES[lane];
    const { url, key, upstream, gateway, usage, logged } = await startLanes(forEver);
    logged.splice(0);
    const phases = Object.keys(PHASES) as Array<keyof typeof PHASES>;
    let left = 0;
    for (const phase of phases) {
      upstream.answerWith(beginning(lane, phase));
      const { stream, body } = PHASES[phase];
      for (let run = 0; run < RUNS; run += 1) {
        const { socket, received } = await connectCaller(url);
        socket.write(chatRequest(key, { model: lane, messages, n, stream }));
        await eventually(() => upstream.busy() === n);
        if (stream && body) await eventually(() => received().includes('Füße'));
        socket[LEAVINGS[left % LEAVINGS.length] ?? 'destroy']();
        left += 1;
        await eventually(() => upstream.busy() === 0);
      }
    }
    await gateway.close();
    const records = await usage(0);
    expect(records.map(({ end }) => end)).toEqual(Array(left).fill('client_gone'));
    expect(upstream.calls).toHaveLength(left * n);
    // A caller who leaves is nothing to warn about.
    expect(logged.filter((line) => JSON.parse(line).level > 30)).toEqual([]);
  },
);

describe('a client that leaves', () => {
  test('A client that leaves while its request waits for a retry is forgotten at once', async () => {
    const { url, key, upstream, gateway, usage, logged } = await startLanes(async (call) => {
      await call.write(
        `HTTP/1.1 503 Busy\r\nRetry-After: ${RETRY_AFTER_MS / 1_000}\r\nContent-Length: 0\r\n\r\n`,
      );
    });
    const { socket } = await connectCaller(url);
    socket.write(chatRequest(key, { model: 'bytes', messages }));
    await eventually(() => logged.some((line) => line.includes('an upstream did not answer')));
    socket.destroy();
    // It waits for all that is on its way, so long as somebody waits for that.
    await gateway.close();
    expect((await usage(0)).map(({ end }) => end)).toEqual(['client_gone']);
    expect(upstream.calls).toHaveLength(1);
  });

  test('A client that leaves while its long request is being sent ends the call', async () => {
    let taken: Socket | undefined;
    const server = createServer((socket) => {
      taken = socket.pause().on('error', () => {});
    });
    const baseUrl = `http://127.0.0.1:${await listen(server)}`;
    const { url, key, gateway, usage } = await startGateway({
      catalog: { models: [{ ...textModel('bytes', 'openai'), context_length: 100_000_000 }] },
      providers: { ...NO_OLLAMA, openai: { apiKey: 'key-0123456789', baseUrl } },
      times: { graceMs: 100_000 },
    });
    const { socket } = await connectCaller(url);
    const long = [{ role: 'user', content: 'x'.repeat(7_000_000) }];
    socket.write(chatRequest(key, { model: 'bytes', messages: long }));
    await eventually(() => taken);
    socket.destroy();
    expect((await usage(1)).map(({ end }) => end)).toEqual(['client_gone']);
    taken?.resume();
    await eventually(() => taken?.destroyed);
    await gateway.close();
    expect(await usage(0)).toHaveLength(1);
  });

  test('A request whose client leaves while it waits for a connection is never sent', async () => {
    const { url, key, upstream, other, gateway, usage, post } = await startLanes(forEver);
    // Uses up all connections to the provider.
    const waiting = await Promise.all(Array.from({ length: 256 }, () => connectCaller(url)));
    for (const { socket } of waiting) socket.write(chatRequest(key, { model: 'bytes', messages }));
    await eventually(() => upstream.busy() === 256);
    const { socket } = await connectCaller(url);
    socket.write(chatRequest(key, { model: 'bytes', messages: [{ role: 'user', content: 'Q' }] }));
    // Sent behind it: once this one is asked for, so would the first be.
    socket.write(chatRequest(key, { model: 'other', messages }));
    await eventually(() => other.busy() === 1);
    expect(upstream.busy()).toBe(256);
    socket.destroy();
    await eventually(() => other.busy() === 0);
    upstream.answerWith(answerWell);
    waiting[0]?.socket.destroy();
    const { text } = await post({ model: 'bytes', messages });
    expect(text).toContain(SAID);
    expect(upstream.calls.map(({ body }) => body.messages)).toEqual(Array(257).fill(messages));
    for (const { socket } of waiting) socket.destroy();
    const stopped = gateway.close().then(() => true);
    expect(await Promise.race([stopped, pause(45_000, false)])).toBe(true);
    const ends = (await usage(0)).map(({ end }) => end);
    expect(ends.filter((end) => end === 'client_gone')).toHaveLength(258);
    expect(ends.filter((end) => end === 'complete')).toHaveLength(1);
  });
});
