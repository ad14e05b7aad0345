import { z } from 'zod';
import { ENDS, type UsageCounts, type UsageRecord } from './usage.ts';
import { COUNTED, createUsageSums } from './usage-sums.ts';

/** The part that usage is moved in, and its groups: those of a day, such as `usage/2026-12-01`. */
export const USAGE_PART = 'usage';

export const usageGroup = (day: string): string => `${USAGE_PART}/${day}`;
export const dayOfUsageGroup = (group: string): string => group.slice(USAGE_PART.length + 1);

const RequestItem = z.tuple([
  z.literal('request'),
  z.int().describe('when it ended'),
  z.string().describe('key'),
  z.string().nullable().describe('model'),
  z.string().nullable().describe('provider'),
  z.int().describe('tokens of the prompt'),
  z.int().describe('tokens of the answer'),
  z.boolean().describe('whether the tokens are estimated'),
  z.int().describe('latency, milliseconds'),
  z.int().nullable().describe('time to the first token, milliseconds'),
  z.enum(ENDS),
]);

const RestItem = z.tuple([
  z.literal('rest'),
  z.string().describe('key'),
  z.string().describe('model'),
  z.array(z.int()).length(COUNTED.length),
]);

const Item = z.union([RequestItem, RestItem]);

/**
 * The usage of a day as it is moved from one engine to another: every request, and what the sums say besides, for a sum
 * stands though some of its requests were lost. `sums` is asked after all requests were given; undefined where the requests
 * alone count.
 */
export async function* usageItems(
  requests: AsyncIterable<UsageRecord>,
  sums: () => Promise<readonly UsageCounts[] | undefined>,
): AsyncGenerator<string> {
  const rest = createUsageSums();
  const added = createUsageSums();
  for await (const request of requests) {
    added.add(request);
    yield requestItem(request);
  }
  const stored = await sums();
  if (!stored) return;
  for (const counts of stored) rest.addCounts(counts);
  for (const counts of added.list()) rest.addCounts(counts, -1);
  for (const counts of rest.list()) {
    if (COUNTED.some((each) => counts[each] !== 0)) yield restItem(counts);
  }
}

/** What an item of usage was made of. */
export function fromUsageItem(item: string): { request: UsageRecord } | { rest: UsageCounts } {
  const found = Item.parse(JSON.parse(item));
  if (found[0] === 'rest') {
    const [, keyId, model, numbers] = found;
    const counts = Object.fromEntries(COUNTED.map((each, at) => [each, numbers[at] ?? 0]));
    return { rest: { keyId, model, ...counts } as UsageCounts };
  }
  const [, atMs, keyId, model, provider, promptTokens, completionTokens, estimated] = found;
  const [, , , , , , , , latencyMs, firstTokenMs, end] = found;
  return {
    request: {
      ...{ atMs, keyId, model: model ?? undefined, provider: provider ?? undefined },
      ...{ promptTokens, completionTokens, estimated },
      ...{ latencyMs, firstTokenMs: firstTokenMs ?? undefined, end },
    },
  };
}

function requestItem(request: UsageRecord): string {
  const { atMs, keyId, model, provider, promptTokens, completionTokens, estimated } = request;
  const { latencyMs, firstTokenMs, end } = request;
  const item: z.infer<typeof RequestItem> = [
    'request',
    ...([atMs, keyId, model ?? null, provider ?? null] as const),
    ...([promptTokens, completionTokens, estimated] as const),
    ...([latencyMs, firstTokenMs ?? null, end] as const),
  ];
  return JSON.stringify(item);
}

function restItem(counts: UsageCounts): string {
  const numbers = COUNTED.map((each) => counts[each]);
  return JSON.stringify(['rest', counts.keyId, counts.model, numbers]);
}
