import fc from 'fast-check';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
} from '../../../src/contracts/gateway.ts';
import { textModels } from '../../../src/gateway/catalog/catalog.ts';
import { Catalog } from '../../../src/gateway/catalog/catalog-schema.ts';
import { findProviders } from '../../../src/gateway/providers/providers.ts';
import { UpstreamError } from '../../../src/gateway/shared/upstream-error.ts';
import { withParallelChoices } from '../../../src/gateway/upstreams/parallel-choices.ts';
import { createRouting } from '../../../src/gateway/upstreams/routing.ts';
import type { Upstream } from '../../../src/gateway/upstreams/upstream.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { PERSONALITIES } from '../../fakes/provider-personalities.ts';
import { eventually } from '../../helpers/eventually.ts';
import {
  NO_OLLAMA,
  startFake,
  startGateway,
  testCatalog,
  textModel,
} from '../../helpers/gateway/running-gateway.ts';
import { long } from '../../helpers/long.ts';

const AT_A_TIME = 8;
const messages: ChatRequest['messages'] = [{ role: 'user', content: 'Tell a joke.' }];
const never = () => new AbortController().signal;

/** A real upstream over a fake provider that refuses `n` and numbers what it says; counts its calls under way. */
async function startSingle() {
  const groq = await startModelProvider({
    refuse: (body) => ('n' in body ? 'property n is unsupported' : undefined),
  });
  const agent = new Agent();
  onTestFinished(async () => {
    await Promise.all([groq.close(), agent.destroy()]);
  });
  let said = 0;
  groq.answerWith(() => {
    said += 1;
    return ['Joke', ` number ${said}`, '.'];
  });
  const providers = await findProviders({
    ollama: false,
    groq: { apiKey: groq.apiKey, baseUrl: `${groq.url}/v1` },
  });
  const catalog = Catalog.parse({ models: [textModel('one', 'groq')] });
  const timeouts = { answerMs: 45_000, firstChunkMs: 45_000, stallMs: 45_000 };
  const routing = createRouting({
    catalog,
    providers,
    connect: () => agent,
    timeouts,
  });
  const [model] = textModels(catalog);
  const [single] = model ? routing.upstreamsOf(model) : [];
  if (!single) throw new Error('There is no upstream.');
  expect(single.maxChoices).toBe(1);
  let open = 0;
  let most = 0;
  const opened = () => {
    open += 1;
    most = Math.max(most, open);
  };
  const counted: Upstream = {
    ...single,
    async complete(request, signal) {
      opened();
      return await single.complete(request, signal).finally(() => {
        open -= 1;
      });
    },
    async *stream(request, signal) {
      opened();
      try {
        yield* single.stream(request, signal);
      } finally {
        open -= 1;
      }
    },
  };
  /** Holds the answers back until no more calls come. */
  async function holdUntil(calls: number) {
    const release = groq.holdChunks();
    await eventually(() => groq.calls.length === calls);
    release();
  }
  return { groq, single: counted, most: () => most, holdUntil };
}

const ask = (n: number, more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'one',
  messages,
  n,
  ...more,
});

/** Asks for twenty choices and waits for the last. */
async function askFor20(upstream: Upstream, how: string, signal: AbortSignal): Promise<void> {
  const view = withParallelChoices(upstream, 20);
  if (how === 'whole') await view.complete(ask(20), signal);
  else for await (const _ of view.stream(ask(20, { stream: true }), signal));
}

/** Collects the roles, text and ends of each index. */
function byIndex(chunks: ChatCompletionChunk[]) {
  const found = new Map<number, { roles: number; text: string; ends: string[] }>();
  for (const { index, delta, finish_reason } of chunks.flatMap(({ choices }) => choices)) {
    const choice = found.get(index) ?? { roles: 0, text: '', ends: [] };
    if (delta.role) {
      expect(choice, 'the role comes first').toEqual({ roles: 0, text: '', ends: [] });
      choice.roles += 1;
    }
    choice.text += delta.content ?? '';
    if (finish_reason) choice.ends.push(finish_reason);
    found.set(index, choice);
  }
  return found;
}

const upTo = (n: number) => [...Array(n).keys()];
const jokes = (n: number) => upTo(n).map((at) => `Joke number ${at + 1}.`);

describe('a provider that gives one variant', () => {
  test.each([1, 2, 7, 128])('gives %d as one whole answer', async (n) => {
    const { groq, single, most, holdUntil } = await startSingle();
    const request = n === 1 ? { model: 'one', messages } : ask(n, { stop: ['!'], max_tokens: 9 });
    const [answer] = await Promise.all([
      withParallelChoices(single, n).complete(request, never()),
      holdUntil(Math.min(n, AT_A_TIME)),
    ]);
    expect(answer.choices.map(({ index }) => index)).toEqual(upTo(n));
    expect(new Set(answer.choices.map(({ message }) => message.content))).toEqual(
      new Set(jokes(n)),
    );
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-fake\d+$/),
      object: 'chat.completion',
    });
    const { prompt_tokens = 0 } = answer.usage ?? {};
    expect(prompt_tokens % n).toBe(0);
    expect(answer.usage).toEqual({
      prompt_tokens,
      completion_tokens: 3 * n,
      total_tokens: prompt_tokens + 3 * n,
    });
    expect(groq.calls).toHaveLength(n);
    expect(most()).toBe(Math.min(n, AT_A_TIME));
    if (n > 1) {
      for (const { body } of groq.calls) expect(body).toMatchObject({ stop: ['!'], max_tokens: 9 });
    }
  });

  test.each(['whole', 'streamed'])('ends the other calls when one fails, %s', async (how) => {
    const { groq, single } = await startSingle();
    groq.holdChunks();
    const failing = askFor20(single, how, never());
    const failed = expect(failing).rejects.toBeInstanceOf(UpstreamError);
    await eventually(() => groq.calls.length === AT_A_TIME);
    groq.calls[3]?.cut();
    await failed;
    const others = groq.calls.filter((_, at) => at !== 3);
    await eventually(() => others.every(({ aborted }) => aborted));
    expect(groq.calls).toHaveLength(AT_A_TIME);
  });

  test.each(['whole', 'streamed'])('ends all calls when the client leaves, %s', async (how) => {
    const { groq, single } = await startSingle();
    groq.holdChunks();
    const cancellation = new AbortController();
    const asking = askFor20(single, how, cancellation.signal);
    const ended = expect(asking).rejects.toBe('gone');
    await eventually(() => groq.calls.length === AT_A_TIME);
    cancellation.abort('gone');
    await ended;
    await eventually(() => groq.calls.every(({ aborted }) => aborted));
    expect(groq.calls).toHaveLength(AT_A_TIME);
  });
});

/** Behaviour of one call of a scripted upstream. */
interface Script {
  texts: string[];
  tellsUsage: boolean;
  /** Breaks after so many chunks. */
  breaksAfter: number | undefined;
}

/** An upstream whose calls follow scripts, and what was seen of them. */
function scripted(
  maxChoices: number,
  scripts: (call: number) => Script,
  turn: () => Promise<unknown> = async () => {},
) {
  const seen = { started: 0, running: 0, most: 0, asked: [] as number[], given: 0 };
  const error = new Error('A call broke.');
  async function* stream(request: ChatRequest, signal: AbortSignal) {
    const call = seen.started++;
    const { texts, tellsUsage, breaksAfter } = scripts(call);
    const envelope = {
      id: `id-${call}`,
      object: 'chat.completion.chunk' as const,
      created: 1_000 + call,
      model: `m-${call}`,
    };
    const own = upTo(request.n ?? 1);
    seen.asked.push(own.length);
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    try {
      let sent = 0;
      const chunks: ChatCompletionChunk[] = [
        ...own.map((index) => ({
          ...envelope,
          choices: [{ index, delta: { role: 'assistant' as const, content: '' } }],
        })),
        ...texts.map((content) => ({
          ...envelope,
          choices: own.map((index) => ({ index, delta: { content } })),
        })),
        {
          ...envelope,
          choices: own.map((index) => ({ index, delta: {}, finish_reason: 'stop' })),
        },
        ...(tellsUsage ? [{ ...envelope, choices: [], usage: usageOf(call) }] : []),
      ];
      for (const chunk of chunks) {
        await turn();
        if (signal.aborted) throw signal.reason;
        if (sent === breaksAfter) throw error;
        sent += 1;
        seen.given += 1;
        yield chunk;
      }
    } finally {
      seen.running -= 1;
    }
  }
  const upstream: Upstream = {
    provider: 'p',
    model: 'm',
    label: 'p/m',
    maxChoices,
    complete: () => Promise.reject(new Error('It only streams.')),
    stream,
  };
  return { upstream, seen, error };
}

const usageOf = (call: number) => ({
  prompt_tokens: 10,
  completion_tokens: call,
  total_tokens: 10 + call,
});

const script: fc.Arbitrary<Script> = fc.record({
  texts: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 6 }),
  tellsUsage: fc.boolean(),
  breaksAfter: fc.option(fc.nat(8), { nil: undefined, freq: 12 }),
});

test('any interleaving of the calls is one whole stream, or ends all of them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 24 }),
      fc.array(script, { minLength: 24, maxLength: 24 }),
      fc.boolean(),
      fc.option(fc.nat(60), { nil: undefined }),
      fc.scheduler(),
      async (maxChoices, n, scripts, calm, leavesAfter, scheduler) => {
        const scriptOf = (call: number): Script => {
          const found = scripts[call];
          if (!found) throw new Error(`Call ${call} is one too many.`);
          // Half of the runs see neither a broken call nor one without usage.
          return calm ? { ...found, tellsUsage: true, breaksAfter: undefined } : found;
        };
        const { upstream, seen, error } = scripted(maxChoices, scriptOf, () =>
          scheduler.schedule(Promise.resolve()),
        );
        const chunks: ChatCompletionChunk[] = [];
        const stream = withParallelChoices(upstream, n).stream(ask(n, { stream: true }), never());
        const reading = (async () => {
          let taken = 0;
          for await (const chunk of stream) {
            chunks.push(chunk);
            taken += 1;
            // Each call may have one chunk ready, however slow the reader is, and one of usage that was kept back.
            expect(seen.given).toBeLessThanOrEqual(taken + seen.started * 2);
            await scheduler.schedule(Promise.resolve());
            if (taken === leavesAfter) return 'left';
          }
          return 'whole';
        })().catch((thrown: unknown) => thrown);
        await scheduler.waitFor(reading);
        const end = await reading;
        // Calls that were ended notice it at their next turn.
        while (scheduler.count() > 0) await scheduler.waitOne();
        await new Promise(setImmediate);
        expect(seen.running, 'no call is left').toBe(0);
        expect(seen.most).toBeLessThanOrEqual(AT_A_TIME);
        if (end !== 'whole') {
          expect(end === 'left' || end === error).toBe(true);
          return;
        }
        const calls = Math.ceil(n / maxChoices);
        expect(seen.started).toBe(calls);
        expect(seen.asked.reduce((sum, size) => sum + size, 0)).toBe(n);
        const found = byIndex(chunks);
        for (const index of upTo(n)) {
          const { texts } = scriptOf(Math.floor(index / maxChoices));
          expect(found.get(index)).toEqual({ roles: 1, text: texts.join(''), ends: ['stop'] });
        }
        if (n <= maxChoices) return;
        expect(
          new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size,
        ).toBe(1);
        const told = chunks.filter(({ usage }) => usage);
        expect(chunks.filter(({ choices, usage }) => choices.length === 0 && !usage)).toEqual([]);
        const all = upTo(calls).every((call) => scriptOf(call).tellsUsage);
        expect(told).toEqual(all ? [chunks.at(-1)] : []);
        if (all) {
          const completion_tokens = upTo(calls).reduce((sum, call) => sum + call, 0);
          expect(told[0]?.usage).toEqual({
            prompt_tokens: 10 * calls,
            completion_tokens,
            total_tokens: 10 * calls + completion_tokens,
          });
        }
      },
    ),
    { numRuns: long ? 3_000 : 40 },
  );
});

describe('a whole answer made of several', () => {
  const whole = (call: number, more: Partial<ChatCompletion> = {}): ChatCompletion => ({
    id: `id-${call}`,
    object: 'chat.completion',
    created: call,
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content: `${call}` }, finish_reason: 'stop' },
    ],
    usage: usageOf(call),
    ...more,
  });
  const answering = (answers: ChatCompletion[]): Upstream => {
    const left = [...answers];
    return {
      provider: 'p',
      model: 'm',
      label: 'p/m',
      maxChoices: 1,
      complete: async () => left.shift() ?? Promise.reject(new Error('One call too many.')),
      stream: () => {
        throw new Error('It does not stream.');
      },
    };
  };
  const complete = (answers: ChatCompletion[]) =>
    withParallelChoices(answering(answers), answers.length).complete(ask(answers.length), never());

  test('adds up the usage, with its details where all tell them', async () => {
    const detailed = (call: number, details: object) =>
      whole(call, { usage: { ...usageOf(call), prompt_tokens_details: details } });
    const answer = await complete([
      detailed(1, { cached_tokens: 3, audio_tokens: 1 }),
      detailed(2, { cached_tokens: 4 }),
    ]);
    expect(answer.usage).toEqual({
      prompt_tokens: 20,
      completion_tokens: 3,
      total_tokens: 23,
      prompt_tokens_details: { cached_tokens: 7 },
    });
  });

  test('has no usage when one call told none', async () => {
    const { usage: _, ...silent } = whole(2);
    expect(await complete([whole(1), silent, whole(3)])).not.toHaveProperty('usage');
  });

  test('leaves out a variant that nobody asked for', async () => {
    const [extra] = whole(9).choices;
    if (!extra) throw new Error('unreachable');
    const generous = whole(1, { choices: [...whole(1).choices, { ...extra, index: 1 }] });
    const answer = await complete([generous, whole(2)]);
    expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, '1'],
      [1, '2'],
    ]);
    expect(answer.id).toBe('id-1');
  });
});

describe('a service at OPENAI_BASE_URL that takes n and gives one choice', () => {
  async function startDeaf() {
    const fake = await startFake({ personality: PERSONALITIES.ollama });
    let said = 0;
    fake.answerWith(() => {
      said += 1;
      return ['Joke', ` number ${said}`, '.'];
    });
    const openai = { apiKey: fake.apiKey, baseUrl: `${fake.url}/v1` };
    const gateway = await startGateway({
      catalog: testCatalog,
      providers: { ...NO_OLLAMA, openai },
    });
    return { ...gateway, fake };
  }

  test('is asked for the rest, and the usage is that of all calls', async () => {
    const { client, fake, usage } = await startDeaf();
    const { completions } = client.chat;
    const one = await completions.create({
      model: 'one',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    const three = await completions.create({
      model: 'one',
      messages: [{ role: 'user', content: 'Hi' }],
      n: 3,
    });
    expect(three.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(three.choices.map(({ message }) => message.content)).size).toBe(3);
    expect(fake.calls.map(({ body }) => body.n)).toEqual([undefined, 3, undefined, undefined]);
    expect(three.usage?.completion_tokens).toBe(3 * (one.usage?.completion_tokens ?? 0));
    const [, record] = await usage(2);
    expect(record?.completionTokens).toBe(three.usage?.completion_tokens);
  });

  test('is asked for the rest of a streamed answer too', async () => {
    const { client, fake } = await startDeaf();
    const stream = await client.chat.completions.create({
      model: 'one',
      messages: [{ role: 'user', content: 'Hi' }],
      n: 3,
      stream: true,
      stream_options: { include_usage: true },
    });
    const texts = new Map<number, string>();
    const usages = [];
    for await (const { choices, usage } of stream) {
      if (usage) usages.push(usage);
      for (const { index, delta } of choices) {
        texts.set(index, (texts.get(index) ?? '') + (delta.content ?? ''));
      }
    }
    expect([...texts.keys()].sort()).toEqual([0, 1, 2]);
    expect(new Set(texts.values())).toEqual(new Set(jokes(3)));
    expect(usages).toHaveLength(1);
    expect(fake.calls).toHaveLength(3);
  });
});
