import { Agent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ChatRequest } from '../../../src/contracts/gateway.ts';
import { textModels } from '../../../src/gateway/catalog/catalog.ts';
import { Catalog } from '../../../src/gateway/catalog/catalog-schema.ts';
import { findProviders } from '../../../src/gateway/providers/providers.ts';
import { type FailureKind, UpstreamError } from '../../../src/gateway/shared/upstream-error.ts';
import { CircuitBreaker } from '../../../src/gateway/upstreams/circuit-breaker.ts';
import { askInOrder, createRouting } from '../../../src/gateway/upstreams/routing.ts';
import type { Upstream } from '../../../src/gateway/upstreams/upstream.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startFake, textModel } from '../../helpers/gateway/running-gateway.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const chat: ChatRequest = { model: 'two', messages: [{ role: 'user', content: 'Hello' }] };

const catalog = Catalog.parse({
  models: [textModel('two', 'openai', 'groq'), textModel('one', 'openai')],
});

/** Real upstreams over two fake providers, asked with a circuit breaker whose clock stands until it is moved. */
async function startAsking(model = 'two', timeouts = {}) {
  const openai = await startFake();
  const groq = await startFake({ apiKey: 'groq-key-0123456789' });
  const agent = new Agent({ connect: { timeout: 1_000 } });
  const { log, lines } = recordingLog();
  const clock = { ms: 1_000 };
  const circuitBreaker = new CircuitBreaker({ nowMs: () => clock.ms, random: () => 0, log });
  onTestFinished(() => agent.destroy());
  const providers = await findProviders({
    ollama: false,
    openai: { apiKey: openai.apiKey, baseUrl: `${openai.url}/v1` },
    groq: { apiKey: groq.apiKey, baseUrl: `${groq.url}/v1` },
  });
  const routing = createRouting({
    catalog,
    providers,
    connect: () => agent,
    timeouts: { answerMs: 45_000, firstChunkMs: 45_000, stallMs: 45_000, ...timeouts },
  });
  const found = textModels(catalog).find(({ id }) => id === model);
  if (!found) throw new Error(`There is no model ${model}.`);
  const waitedMs: number[] = [];
  /** Asks; the waits between rounds are noted and pass at once, for the circuit breaker too. */
  const ask = (signal = new AbortController().signal, reallyWait = false) =>
    askInOrder({
      upstreams: routing.upstreamsOf(found),
      circuitBreaker,
      signal,
      attempt: (upstream) => upstream.complete(chat, signal),
      log,
      // A wait that is really waited is longer than any test.
      random: () => (reallyWait ? 1e6 : 1),
      ...(!reallyWait && {
        pause: async (ms: number) => {
          waitedMs.push(ms);
          clock.ms += ms;
        },
      }),
    });
  const answering = async () => (await ask()).upstream.provider;
  const failing = async () => {
    const error = await ask().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof UpstreamError)) throw new Error('It did not fail.', { cause: error });
    return error;
  };
  return { openai, groq, clock, lines, circuitBreaker, waitedMs, ask, answering, failing };
}

describe('falling over', () => {
  test.each([
    { kind: 'reset' },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 529 },
    { kind: 'status', status: 429, headers: { 'retry-after': '30' } },
    { kind: 'status', status: 401 },
    { kind: 'status', status: 404 },
    { kind: 'html' },
    { kind: 'cut', afterChunks: 1 },
  ] as const)('leads to the next upstream at once after %j', async (fault) => {
    const { openai, groq, waitedMs, answering } = await startAsking();
    openai.failWith(fault);
    expect(await answering()).toBe('groq');
    expect([openai.calls.length, groq.calls.length]).toEqual([1, 1]);
    expect(waitedMs).toEqual([]);
  });

  test('uses the next upstream when nothing listens, and opens the circuit of the first after three times', async () => {
    const { openai, clock, lines, answering } = await startAsking();
    await openai.close();
    for (let times = 0; times < 5; times += 1) expect(await answering()).toBe('groq');
    const warnings = () => lines.filter(({ level }) => Number(level) >= 40);
    expect(warnings()).toMatchObject([
      { provider: 'openai', model: 'test-model', openMs: 15_000, cause: 'ECONNREFUSED' },
    ]);
    clock.ms += 15_000;
    expect(await answering()).toBe('groq');
    expect(warnings()).toHaveLength(2);
    expect(warnings()[1]).toMatchObject({ openMs: 30_000 });
  });

  test('leaves an upstream alone for as long as it asked, then goes back to it', async () => {
    const { openai, clock, answering } = await startAsking();
    openai.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '30' } }, 1);
    expect(await answering()).toBe('groq');
    clock.ms += 29_999;
    expect(await answering()).toBe('groq');
    expect(openai.calls).toHaveLength(1);
    clock.ms += 1;
    expect(await answering()).toBe('openai');
  });

  test('recognises a 429 that means an empty account', async () => {
    const { openai, lines, failing } = await startAsking('one');
    const error = { message: 'You exceeded your quota.', code: 'insufficient_quota' };
    openai.failWith({ kind: 'status', status: 429, body: { error } });
    const { answer } = await failing();
    expect([answer.status, answer.headers]).toEqual([502, { 'x-should-retry': 'false' }]);
    expect(answer.message).toContain('no credit');
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, openMs: 60_000 }));
  });

  test('ends at once where no other upstream can help', async () => {
    const { openai, groq, waitedMs, failing } = await startAsking();
    openai.failWith({ kind: 'status', status: 400 });
    expect((await failing()).answer.status).toBe(400);
    expect([openai.calls.length, groq.calls.length, waitedMs.length]).toEqual([1, 0, 0]);
  });
});

describe('retrying', () => {
  test.each([
    { kind: 'reset' },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 503 },
    { kind: 'cut', afterChunks: 1 },
  ] as const)('an only upstream that recovers from %j answers in a later round', async (fault) => {
    const { openai, waitedMs, answering } = await startAsking('one');
    openai.failWith(fault, 2);
    expect(await answering()).toBe('openai');
    expect(openai.calls).toHaveLength(3);
    expect(waitedMs).toEqual([250, 500]);
  });

  test('waits for a short Retry-After, and passes a long one on', async () => {
    const { openai, clock, waitedMs, answering, failing } = await startAsking('one');
    openai.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '2' } }, 1);
    expect(await answering()).toBe('openai');
    expect(waitedMs.splice(0)).toEqual([2_250]);
    openai.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '2' } }, 2);
    clock.ms += 60_000;
    expect((await failing()).answer.status).toBe(429);
    expect(waitedMs.splice(0)).toEqual([2_250]);
    clock.ms += 60_000;
    openai.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '3' } }, 1);
    const { answer } = await failing();
    expect([answer.status, answer.headers]).toEqual([429, { 'retry-after': '3' }]);
    expect(waitedMs).toEqual([]);
    clock.ms += 3_000;
    expect(await answering()).toBe('openai');
  });

  test.each([
    { kind: 'status', status: 429 },
    { kind: 'status', status: 401 },
    { kind: 'status', status: 404 },
    { kind: 'status', status: 504 },
    { kind: 'status', status: 418 },
    { kind: 'html' },
    { kind: 'wrong-shape' },
  ] as const)('is not done after %j', async (fault) => {
    const { openai, groq, waitedMs, failing } = await startAsking();
    openai.failWith(fault);
    groq.failWith(fault);
    await failing();
    expect([openai.calls.length, groq.calls.length, waitedMs.length]).toEqual([1, 1, 0]);
  });

  test('is not done after no answer in time', async () => {
    const { openai, groq, waitedMs, lines, failing } = await startAsking('two', { answerMs: 150 });
    openai.failWith({ kind: 'hang-before-headers' });
    groq.failWith({ kind: 'hang-before-headers' });
    const { answer } = await failing();
    expect(answer.status).toBe(504);
    // Their own calls do not tell: on a busy machine the time is over before a request arrives.
    const asked = lines.filter(({ msg }) => msg === 'an upstream did not answer');
    expect(asked.map(({ provider, round }) => [provider, round])).toEqual([
      ['openai', 0],
      ['groq', 0],
    ]);
    expect(waitedMs).toEqual([]);
  });

  test('is done three times at most, and only once where the circuit is open; that one is still asked', async () => {
    const { openai, groq, clock, failing, answering } = await startAsking();
    openai.failWith({ kind: 'status', status: 500 });
    groq.failWith({ kind: 'status', status: 500 });
    await failing();
    expect([openai.calls.length, groq.calls.length]).toEqual([3, 3]);
    await failing();
    expect([openai.calls.length, groq.calls.length]).toEqual([4, 4]);
    groq.recover();
    expect(await answering()).toBe('groq');
    openai.recover();
    clock.ms += 14_000;
    expect(await answering()).toBe('groq');
    clock.ms += 1_000;
    expect(await answering()).toBe('openai');
  });

  test('does not wait for the upstream with the longest Retry-After', async () => {
    const { openai, groq, waitedMs, answering } = await startAsking();
    openai.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '2' } });
    groq.failWith({ kind: 'status', status: 500 }, 1);
    expect(await answering()).toBe('groq');
    expect(waitedMs).toEqual([250]);
    expect(openai.calls).toHaveLength(1);
  });

  test('repeats only upstreams whose failure passes', async () => {
    const { openai, groq, answering } = await startAsking();
    openai.failWith({ kind: 'status', status: 401 });
    groq.failWith({ kind: 'reset' }, 1);
    expect(await answering()).toBe('groq');
    expect([openai.calls.length, groq.calls.length]).toEqual([1, 2]);
  });
});

describe('a client who leaves', () => {
  test('during an attempt ends it, and no other upstream is called', async () => {
    const { openai, groq, ask } = await startAsking();
    openai.failWith({ kind: 'hang-before-headers' });
    const cancellation = new AbortController();
    const asking = ask(cancellation.signal);
    await eventually(() => openai.calls.length === 1);
    const reason = new Error('The caller left.');
    cancellation.abort(reason);
    await expect(asking).rejects.toBe(reason);
    await eventually(() => openai.calls[0]?.aborted);
    expect(groq.calls).toEqual([]);
  });

  test('during a wait ends it at once', async () => {
    const { openai, lines, ask } = await startAsking('one');
    openai.failWith({ kind: 'status', status: 503 });
    const cancellation = new AbortController();
    const ended = expect(ask(cancellation.signal, true)).rejects.toBe('gone');
    await eventually(() => lines.some(({ msg }) => msg === 'an upstream did not answer'));
    cancellation.abort('gone');
    await ended;
    expect(openai.calls).toHaveLength(1);
  });

  test('leaves the probe of an open circuit to the next one', async () => {
    const { openai, clock, ask, answering } = await startAsking();
    openai.failWith({ kind: 'status', status: 401 }, 1);
    expect(await answering()).toBe('groq');
    clock.ms += 60_000;
    openai.failWith({ kind: 'hang-before-headers' }, 1);
    const cancellation = new AbortController();
    const ended = expect(ask(cancellation.signal)).rejects.toBe('gone');
    await eventually(() => openai.calls.length === 2);
    expect(await answering()).toBe('groq');
    cancellation.abort('gone');
    await ended;
    expect(await answering()).toBe('openai');
  });

  test('is recorded as gone although the upstream fails at the same moment, and the failure is not counted', async () => {
    const { log } = recordingLog();
    const circuitBreaker = new CircuitBreaker({ log });
    const asked: string[] = [];
    const leave = () => {
      const cancellation = new AbortController();
      return askInOrder({
        upstreams: [named('a'), named('b')],
        circuitBreaker,
        signal: cancellation.signal,
        attempt: async ({ provider }) => {
          asked.push(provider);
          cancellation.abort('gone');
          throw failure('server');
        },
        log,
      });
    };
    for (let times = 0; times < 4; times += 1) await expect(leave()).rejects.toBe('gone');
    expect(asked).toEqual(['a', 'a', 'a', 'a']);
  });

  test('A client that leaves before the first attempt causes none', async () => {
    const { openai, ask } = await startAsking();
    await expect(ask(AbortSignal.abort('gone'))).rejects.toBe('gone');
    expect(openai.calls).toEqual([]);
  });
});

function failure(kind: FailureKind, options: { status?: number; retryAfterMs?: number } = {}) {
  const { status = 502, retryAfterMs } = options;
  return new UpstreamError(new HttpError(status, 'x', `${kind} ${retryAfterMs}`), {
    tryNext: true,
    kind,
    retryAfterMs,
  });
}

function named(provider: string): Upstream {
  const unused = () => {
    throw new Error('It is only named here.');
  };
  const label = `${provider}/m`;
  return { provider, model: 'm', label, maxChoices: 1, complete: unused, stream: unused };
}

describe('the final error', () => {
  const late = { retryAfterMs: 60_000 };
  test.each([
    { told: 1, failures: [failure('account'), failure('unusable')] },
    { told: 0, failures: [failure('silence'), failure('unusable'), failure('account')] },
    { told: 1, failures: [failure('silence'), failure('limited', late), failure('limited')] },
    {
      told: 2,
      failures: [
        failure('limited', late),
        failure('silence'),
        failure('server', { retryAfterMs: 9e3 }),
      ],
    },
    { told: 1, failures: [failure('account'), failure('request', { status: 400 })] },
    { told: 1, failures: [failure('request', { status: 400 }), failure('silence')] },
    { told: 0, failures: [failure('account'), failure('account')] },
  ])('is the failure that helps the client most (%#)', async ({ told, failures }) => {
    const { log } = recordingLog();
    const upstreams = failures.map((_, at) => named(`p${at}`));
    const asking = askInOrder({
      upstreams,
      circuitBreaker: new CircuitBreaker({ log }),
      signal: new AbortController().signal,
      attempt: (upstream) => Promise.reject(failures[upstreams.indexOf(upstream)]),
      log,
    });
    await expect(asking).rejects.toBe(failures[told]);
  });

  test('is an error of our own as it is', async () => {
    const { log } = recordingLog();
    const bug = new TypeError('A bug.');
    const circuitBreaker = new CircuitBreaker({ log });
    const ask = (upstreams: Upstream[]) =>
      askInOrder({
        upstreams,
        circuitBreaker,
        signal: new AbortController().signal,
        attempt: () => Promise.reject(bug),
        log,
      });
    await expect(ask([named('a'), named('b')])).rejects.toBe(bug);
    await expect(ask([])).rejects.toThrow('no upstream');
  });
});
