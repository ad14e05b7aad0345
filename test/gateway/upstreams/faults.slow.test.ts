import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { CatalogInput } from '../../../src/gateway/catalog/catalog-schema.ts';
import { type BrokenUpstream, startBrokenUpstream } from '../../fakes/broken-upstream.ts';
import { eventually } from '../../helpers/eventually.ts';
import { LANES, type Lane, SAID } from '../../helpers/gateway/fault-answers.ts';
import {
  drawCase,
  type Expected,
  expectationOf,
  type FaultCase,
  KINDS,
  type Kind,
  type KindName,
} from '../../helpers/gateway/fault-cases.ts';
import { answerBadly, answerWell } from '../../helpers/gateway/fault-play.ts';
import { NO_OLLAMA, startGateway, textModel } from '../../helpers/gateway/running-gateway.ts';
import { long } from '../../helpers/long.ts';
import { seed } from '../../helpers/seed.ts';

/** Faults that can happen anywhere in an answer, and the others. */
const CASES_PER_KIND = long ? { anywhere: 40, others: 16 } : { anywhere: 1, others: 1 };
const AT_A_TIME = 4;

const PROVIDER_KEY = 'canary-provider-key-0123456789';
const messages = [{ role: 'user' as const, content: 'canary-question' }];

const catalog: CatalogInput = {
  models: (Object.keys(LANES) as Lane[]).flatMap((lane) => [
    textModel(`${lane}-1`, LANES[lane].provider),
    textModel(`${lane}-2`, LANES[lane].provider, 'xai'),
  ]),
};

/** A gateway over an upstream with the fault, in the place of the lane's provider, and one that is well. */
async function startLane({ lane, kind, pings, providers }: FaultCase, expected: Expected) {
  const first = await startBrokenUpstream(answerWell);
  const second = await startBrokenUpstream(answerWell);
  const rules: Kind = KINDS[kind];
  const broken = expected.outcome === 'broken';
  // Neither what comes before a silence nor the next upstream must be late itself on a machine that is busy.
  const shortMs = broken || providers === 2 ? 2_000 : 300;
  const at = ({ url }: BrokenUpstream) => ({ apiKey: PROVIDER_KEY, baseUrl: `${url}/v1` });
  const running = await startGateway({
    catalog,
    providers: { ...NO_OLLAMA, [LANES[lane].provider]: at(first), xai: at(second) },
    times: {
      // Long enough to fail the test if a call under way is forgotten.
      graceMs: 100_000,
      ...(rules.silent && (broken ? { stallMs: shortMs } : { firstChunkMs: shortMs })),
      ...(rules.silent && !broken && { answerMs: shortMs }),
      ...(pings && { pingMs: 40 }),
    },
  });
  return { ...running, first, second };
}

/** Everything that a caller with the real client receives. */
interface Got {
  /** The text of each variant. */
  texts: string[];
  error: unknown;
  chunks: number;
  headers: Headers | undefined;
}

/** Asks with the real client; `got` grows while the answer comes. */
async function ask(client: OpenAI, fault: FaultCase, got: Got): Promise<void> {
  const { lane, providers, stream } = fault;
  const { n } = LANES[lane];
  const request = { model: `${lane}-${providers}`, messages, n };
  try {
    if (!stream) {
      const { data, response } = await client.chat.completions.create(request).withResponse();
      got.texts = data.choices.map(({ message }) => message.content ?? '');
      got.headers = response.headers;
      return;
    }
    const { data, response } = await client.chat.completions
      .create({ ...request, stream })
      .withResponse();
    got.headers = response.headers;
    for await (const { choices } of data) {
      got.chunks += 1;
      for (const { index, delta } of choices) got.texts[index] += delta.content ?? '';
    }
  } catch (error) {
    got.error = error;
  }
}

/** Plays a fault and looks at all that must be seen, and at all that must be left. */
async function tryOut(fault: FaultCase): Promise<void> {
  const { lane, kind, stream, framing, providers } = fault;
  const expected = expectationOf(fault);
  const running = await startLane(fault, expected);
  const { client, first, second, post } = running;
  const texts: string[] = Array(LANES[lane].n).fill('');
  const got: Got = { texts, error: undefined, chunks: 0, headers: undefined };

  let over = false;
  function seesEnough(): boolean {
    if (expected.outcome === 'error') return true;
    if (expected.outcome === 'broken') {
      return got.chunks > 0 && got.texts.every((text) => text === expected.text);
    }
    if (expected.unsaid) return got.texts.every((text) => text === SAID);
    return over || expected.by === 'second' || (!stream && framing !== 'length');
  }
  const seen = () => eventually(seesEnough, { what: 'the caller to see what came' });
  if (kind === 'refuses') await first.stop();
  first.answerWith(answerBadly(fault, { seen, trap: `${second.url}/v1/chat/completions` }));
  await ask(client, fault, got);
  over = true;
  expectSeen(fault, expected, got);

  await eventually(() => first.busy() === 0 && second.busy() === 0, { what: 'free connections' });
  first.answerWith(answerWell);
  if (kind === 'refuses') await first.startAgain();
  let asked = 0;
  await eventually(
    async () => {
      asked += 1;
      const { status, text } = await post({ model: `${lane}-${providers}`, messages });
      return status === 200 && text.includes(SAID);
    },
    { what: 'a good answer afterwards' },
  );
  const stopped = running.gateway.close().then(() => true);
  expect(await Promise.race([stopped, pause(45_000, false)])).toBe(true);
  await eventually(() => first.open() === 0 && second.open() === 0, { what: 'closed connections' });
  const [record, ...later] = await running.usage(0);
  expect(later).toHaveLength(asked);
  expectRecorded(fault, expected, record);
  expect(running.logged.join('')).not.toContain('canary');
}

function expectSeen(fault: FaultCase, expected: Expected, got: Got): void {
  const { n, provider } = LANES[fault.lane];
  const told = got.error instanceof OpenAI.APIError ? got.error : undefined;
  const headers = [...(got.headers ?? told?.headers ?? [])].join('\n');
  expect(headers).not.toContain('canary');
  if (expected.outcome === 'whole') {
    expect(got.error).toBeUndefined();
    expect(got.texts).toEqual(Array(n).fill(SAID));
    const by = expected.by === 'first' ? provider : 'xai';
    // A comment that was sent while nobody had answered yet took the headers with it.
    if (!fault.pings) expect(headers).toContain(`x-askwatch-upstream,${by}/test-model`);
    return;
  }
  expect(told).toBeInstanceOf(OpenAI.APIError);
  expect(told?.code).toBe(expected.status === 504 ? 'upstream_timeout' : 'upstream_error');
  expect(told?.message).not.toContain('canary');
  if (expected.outcome === 'error') {
    expect(got.texts).toEqual(Array(n).fill(''));
    if (!fault.pings) expect(told?.status).toBe(expected.status);
    return;
  }
  // An error inside an answer with a good status has none of its own.
  expect(told?.status).toBeUndefined();
  // When all comes at once, the end of one call may stop the other anywhere.
  const exact = n === 1 || fault.kind !== 'says it is shorter than it is';
  if (exact) expect(got.texts).toEqual(Array(n).fill(expected.text));
  else expect(got.texts.every((text) => expected.text.startsWith(text))).toBe(true);
}

function expectRecorded(fault: FaultCase, expected: Expected, record: unknown): void {
  const { n, provider } = LANES[fault.lane];
  const model = `${fault.lane}-${fault.providers}`;
  if (expected.outcome !== 'whole') {
    const nothing = expected.outcome === 'error' && { promptTokens: 0, completionTokens: 0 };
    expect(record).toMatchObject({ model, end: 'upstream_error', ...nothing });
    if (expected.outcome === 'error' || expected.text === '') return;
    expect(record).toMatchObject({ provider, completionTokens: expect.toSatisfy(isPositive) });
    return;
  }
  const bySecond = expected.by === 'second';
  expect(record).toMatchObject({
    model,
    provider: bySecond ? 'xai' : provider,
    // The second gives all variants in one call.
    completionTokens: expected.estimated ? expect.toSatisfy(isPositive) : bySecond ? 5 : 5 * n,
    estimated: expected.estimated === true,
    end: 'complete',
  });
}

const isPositive = (count: number) => count > 0;

test.each(Object.keys(KINDS) as KindName[])(
  'an upstream that %s spoils no more than its own answer',
  async (kind) => {
    const { places }: Kind = KINDS[kind];
    const length = places ? CASES_PER_KIND.anywhere : CASES_PER_KIND.others;
    const first = seed() + Object.keys(KINDS).indexOf(kind) * 1_000;
    const cases = Array.from({ length }, (_, at) => drawCase(first, kind, at)).values();
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (const fault of cases) {
          try {
            await tryOut(fault);
          } catch (cause) {
            const { pieces: _, ...told } = fault;
            const sentence = `${JSON.stringify(told)} should be ${JSON.stringify(expectationOf(fault))}`;
            throw new Error(`${sentence}: ${cause}`, { cause });
          }
        }
      }),
    );
  },
);
