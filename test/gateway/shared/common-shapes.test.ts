import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
} from '../../../src/contracts/gateway.ts';
import {
  isCommonCompletion,
  isCommonRequest,
  isCommonUsageChunk,
} from '../../../src/gateway/shared/common-shapes.ts';

const REQUEST = {
  model: 'm',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '', name: 'Ada' },
  ],
  temperature: 0.7,
  top_p: 1,
  presence_penalty: -2,
  frequency_penalty: 2,
  max_tokens: 1,
  max_completion_tokens: 9,
  n: 128,
  stream: true,
  stream_options: { include_usage: true },
  stop: 'END',
  tools: [{ type: 'function' }],
};

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 },
};

const USAGE_CHUNK = { ...COMPLETION, object: 'chat.completion.chunk', choices: [] };

/** What may stand in the place of any value: near the limits of all fields, and of every kind. */
const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, undefined, true, '', 'user', 'tool', 'nobody', [], {}, ['END'], [[]], [{}]],
    ...[-2.1, -2, -1, -0, 0, 0.5, 1, 1.5, 2, 2.1, 128, 129, 2 ** 53, Number.POSITIVE_INFINITY],
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A value in which some places hold something else, or are gone. */
const changed = (value: object) =>
  fc.array(fc.tuple(fc.nat(), anyValue), { maxLength: 3 }).map((changes) => {
    const copy = structuredClone(value);
    for (const [place, other] of changes) {
      const places = placesIn(copy);
      const [holder, key] = places[place % places.length] ?? [];
      if (!holder || key === undefined) continue;
      // JSON has no holes.
      if (other === undefined && Array.isArray(holder)) holder.splice(Number(key), 1);
      else if (other === undefined) delete holder[key];
      else holder[key] = structuredClone(other);
    }
    return copy as unknown;
  });

function placesIn(value: unknown): Array<[Record<string, unknown>, string]> {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    [holder, key] as const,
    ...placesIn(holder[key]),
  ]) as Array<[Record<string, unknown>, string]>;
}

test.each([
  ['request', REQUEST, isCommonRequest, ChatRequest],
  ['answer', COMPLETION, isCommonCompletion, ChatCompletion],
  ['last chunk', USAGE_CHUNK, isCommonUsageChunk, ChatCompletionChunk],
] as const)(
  'a %s that is taken at a glance is one that zod takes as it is',
  (_, usual, is, schema) => {
    expect(is(usual)).toBe(true);
    let taken = 0;
    fc.assert(
      fc.property(changed(usual), (value) => {
        if (!is(value)) return;
        taken += 1;
        expect(schema.parse(value)).toEqual(value);
      }),
      { numRuns: 3_000 },
    );
    // Else it would hold of checks that take nothing.
    expect(taken).toBeGreaterThan(300);
  },
);
