import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonStringScan, SCAN_BYTES } from '../../../src/gateway/chat/json-string-scan.ts';
import { long } from '../../helpers/long.ts';

/** Where the string ends that begins with the text, whose characters are bytes; -1 if there is none, else its length. */
function scan(text: string, cuts: number[]): number {
  const strings = new JsonStringScan();
  const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length];
  let from = 0;
  for (const end of ends.sort((a, b) => a - b)) {
    const part = Buffer.from(text.slice(from, end), 'latin1');
    strings.load(part);
    const at = strings.endOfString(0);
    if (at < part.length) return at === -1 ? -1 : from + at;
    from = end;
  }
  return text.length;
}

function isString(text: string): boolean {
  try {
    JSON.parse(`"${text}"`);
    return true;
  } catch {
    return false;
  }
}

const places = fc.array(fc.nat(), { maxLength: 4, size: 'max' });

test('a string ends where JSON.parse has it end, wherever it is cut', () => {
  // Mostly what matters: escapes, some of them broken.
  const piece = fc.oneof(
    fc.constantFrom('\\', '\\\\', '\\u', '\\u00e', '\\u00E9', '\\n', '\\/', 'a plain text', 'é'),
    fc.constantFrom('"', '\\"', 'u', '0', 'g', '\x1f', '\x7f'),
    fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
    fc.integer({ min: 0, max: 255 }).map((byte) => `\\${String.fromCharCode(byte)}`),
  );
  const text = fc.array(piece, { maxLength: 40, size: 'max' }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, places, (text, cuts) => {
      const quotes = [...`${text}"`.matchAll(/"/g)].map(({ index }) => index);
      const end = quotes.find((quote) => isString(text.slice(0, quote)));
      const found = scan(`${text}"`, cuts);
      if (end === undefined) expect([-1, text.length + 1]).toContain(found);
      else expect(found).toBe(end);
    }),
    { numRuns: long ? 200_000 : 4_000 },
  );
});

test.each([
  ['a control character', '\0'],
  ['an escape that there is not', '\\x41'],
  ['an escape of three digits', '\\u041 '],
])('a string ends nowhere with %s, at every place in a step', (_name, wrong) => {
  for (let before = 0; before < 40; before += 1) {
    expect(scan(`${'x'.repeat(before)}${wrong}"`, [])).toBe(-1);
  }
});

test('a string goes on over parts of the largest size, and a part may be empty', () => {
  const text = '\\u00e9'.repeat(SCAN_BYTES / 2);
  const ends = [0, 0, SCAN_BYTES, SCAN_BYTES * 2];
  expect(scan(`${text}"`, ends)).toBe(text.length);
});

test('what an earlier part held is not taken for the end of a shorter one', () => {
  const strings = new JsonStringScan();
  for (const [part, end] of [
    ['x"""""""', 1],
    ['xx', 2],
    ['\\', 1],
    ['\\', 1],
    ['u"', 1],
  ] as const) {
    strings.load(Buffer.from(part));
    expect(strings.endOfString(0), part).toBe(end);
  }
});
