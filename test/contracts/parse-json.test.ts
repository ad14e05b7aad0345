import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonScan, parseUntrustedJson } from '../../src/contracts/parse-json.ts';

const LIMITS = { depth: 5, values: 2_000, names: 600 };

const list = (count: number, item: (at: number) => string) =>
  `[${Array.from({ length: count }, (_, at) => item(at)).join(',')}]`;

test.each([
  ['is nested more than 5 levels deep', '[[[[[[', 'depth'],
  ['is nested more than 5 levels deep', `{"a":${'['.repeat(5)}`, 'depth'],
  ['has more than 2000 values', list(2_000, () => '0'), 'values'],
  ['has more than 2000 values', list(1_000, () => '[0]'), 'values'],
  ['has more than 2000 values', `"\\\\",${'0,'.repeat(2_000)}`, 'values'],
  ['has more than 600 different field names', list(1_900, (at) => `"k${at}":0`), 'names'],
  ['has more than 600 different field names', `{${'"a":0,'.repeat(1_900)}`, 'names'],
])('a text that %s is refused before it is parsed', (message, text, limit) => {
  expect(() => parseUntrustedJson(text, LIMITS)).toThrow(
    expect.objectContaining({ limit, message }),
  );
});

test.each([
  ['many brackets and commas in a string', JSON.stringify('[{,:"\\'.repeat(5_000))],
  ['a string that ends with backslashes', JSON.stringify({ a: '\\\\', b: ['\\"', '[[[[['] })],
  ['many objects of the same fields', list(400, (at) => `{"k":${at},"l":[1]}`)],
  ['as many values as may be', list(1_999, () => '0')],
])('a text of %s is parsed', (_, text) => {
  expect(parseUntrustedJson(Buffer.from(text), LIMITS)).toEqual(JSON.parse(text));
});

test('JSON counts the same in pieces as in one, wherever it is cut', () => {
  const texts = fc.json({ maxDepth: 8 });
  const passes = (pieces: string[]) => {
    const scan = new JsonScan({ depth: 4, values: 10, names: 600 });
    try {
      for (const piece of pieces) scan.add(piece);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(texts, fc.nat(), fc.nat(), (text, a, b) => {
      const [first = 0, second = 0] = [a % (text.length + 1), b % (text.length + 1)].sort(
        (one, other) => one - other,
      );
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      expect(passes(pieces)).toBe(passes([text]));
      expect(passes([text])).toBe(
        depthOf(JSON.parse(text)) <= 4 && countOf(JSON.parse(text)) <= 10,
      );
    }),
  );
});

const innerOf = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.values(value) : undefined;

function depthOf(value: unknown): number {
  const inner = innerOf(value);
  return inner ? 1 + Math.max(0, ...inner.map(depthOf)) : 0;
}

/** One for each list and object, and one for each value after the first in one. */
function countOf(value: unknown, isRoot = true): number {
  const inner = innerOf(value);
  const own = inner ? 1 + Math.max(0, inner.length - 1) : 0;
  return (inner ?? []).reduce<number>(
    (sum, one) => sum + countOf(one, false),
    own + (isRoot ? 1 : 0),
  );
}
