import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRequestBody } from '../../../src/gateway/chat/request-body.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { long } from '../../helpers/long.ts';

const runs = long ? 20_000 : 400;
const stretched = (text: string) => text + ' and so on "\\ \n é 🌈'.repeat(100);
const read = (value: unknown) => readRequestBody([Buffer.from(JSON.stringify(value))]);
const textOf = (parts: readonly Buffer[] | undefined) => parts && Buffer.concat(parts).toString();

const keys = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join();

/** The bytes in parts, cut at some places. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length];
  let from = 0;
  return ends
    .sort((a, b) => a - b)
    .map((end) => {
      const part = bytes.subarray(from, end);
      from = end;
      return part;
    });
}
const places = fc.array(fc.nat(), { maxLength: 8, size: 'max' });

/** JSON values in which some strings and keys are long enough to be left in place. */
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, -1.5e300),
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: anyCharacter }).map(stretched),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.string().map(stretched)).filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value;

describe('a request body', () => {
  test('keeps every long string in its place, and gives back what came', () => {
    fc.assert(
      fc.property(json, places, (value, cuts) => {
        const body = readRequestBody(cut(Buffer.from(JSON.stringify(value)), cuts));
        expect(body.whole()).toEqual(JSON.parse(JSON.stringify(value)));
        expect(JSON.parse(textOf(body.write(body.value)) ?? '')).toEqual(body.whole());
      }),
      { numRuns: runs },
    );
  });

  test('is refused exactly when it is no JSON', () => {
    const mutation = fc.tuple(fc.nat(), fc.constantFrom(...'"\\{}[],:u0\n\u0001x'), fc.boolean());
    fc.assert(
      fc.property(json, fc.array(mutation, { maxLength: 3 }), places, (value, mutations, cuts) => {
        let bytes = Buffer.from(JSON.stringify(value));
        for (const [place, put, insert] of mutations) {
          const at = place % (bytes.length + 1);
          bytes = Buffer.concat([
            bytes.subarray(0, at),
            Buffer.from(put),
            bytes.subarray(insert ? at : at + 1),
          ]);
        }
        const expected = attempt(() => {
          if (bytes.length === 0 || !isUtf8(bytes)) throw new Error('no text');
          return JSON.parse(bytes.toString());
        });
        const body = attempt(() => readRequestBody(cut(bytes, cuts)));
        expect(body === undefined).toBe(expected === undefined);
        if (!body) return;
        expect(body.whole()).toEqual(expected);
        // A number too large for one is written as null.
        const rewritten = JSON.parse(JSON.stringify(expected));
        expect(JSON.parse(textOf(body.write(body.value)) ?? '')).toEqual(rewritten);
      }),
      { numRuns: runs * 2 },
    );
  });

  test('shows a stand-in for a long string and the string itself on request', () => {
    const content = 'x'.repeat(1025);
    const body = read({ short: 'x'.repeat(1024), content });
    const value = body.value as { short: string; content: string };
    expect(value.short).toBe('x'.repeat(1024));
    expect(value.content.length).toBeLessThan(60);
    expect(textOf(body.longText(value.content))).toBe(content);
    expect(body.longText(value.short)).toBeUndefined();
    expect(body.longText(`${value.content}7`)).toBeUndefined();
  });

  test('passes escapes on as they were written', () => {
    const raw = `{"a":"${'\\u00e9\\/'.repeat(200)}","b":1}`;
    const body = readRequestBody([Buffer.from(raw)]);
    expect(textOf(body.write({ ...(body.value as object), b: 2 }))).toBe(
      raw.replace('"b":1', '"b":2'),
    );
  });

  test('that repeats a key counts by the last one, for us and for who gets it', () => {
    const body = readRequestBody([Buffer.from(`{"m":"${'x'.repeat(2000)}","m":"last"}`)]);
    expect(body.value).toEqual({ m: 'last' });
    expect(textOf(body.write(body.value))).toBe('{"m":"last"}');
  });

  test('may hold a stand-in of another body, which is then just text', () => {
    const stand = (read('x'.repeat(2000)).value as string) ?? '';
    const body = read({ stand, beyond: `${stand}5` });
    expect(JSON.parse(textOf(body.write(body.value)) ?? '')).toEqual({
      stand,
      beyond: `${stand}5`,
    });
  });

  test.each([
    ['nothing', '', 'is empty'],
    ['text that is no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not UTF-8'],
    ['half of an object', '{"a":', 'not valid JSON'],
    ['a line break in a long string', `"${'x'.repeat(2000)}\n"`, 'not valid JSON'],
    ['an unknown escape in a long string', `"${'x'.repeat(2000)}\\q"`, 'not valid JSON'],
    ['a short \\u in a long string', `"${'x'.repeat(2000)}\\u00g0"`, 'not valid JSON'],
    ['a long string that never ends', `"${'x'.repeat(2000)}`, 'not valid JSON'],
    ['ten million brackets', '['.repeat(10_000_000), 'more than 100 levels deep'],
    ['380,000 keys', `{${keys(380_000)}}`, 'more than 20000 keys'],
    [
      '100,000 messages',
      `[${'{"role":"user","content":""},'.repeat(100_000)}1]`,
      'more than 20000',
    ],
    ['millions of values', `[${'{},'.repeat(2_000_000)}1]`, 'more than 200000 values'],
    ['a key __proto__', '{"a":[{"__proto__":{}}]}', '__proto__'],
    ['an escaped key __proto__', '{"\\u005f_proto__":1}', '__proto__'],
  ])('is refused when it is %s', (_name, content, why) => {
    const refusal = attempt(() => readRequestBody([Buffer.from(content)]), true);
    expect(refusal).toBeInstanceOf(HttpError);
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(String(refusal)).toContain(why);
  });

  test('may have 20,000 keys and 200,000 values, and those within strings do not count', () => {
    const many = Buffer.from(
      `{${keys(19_998)},"values":[${'0,'.repeat(179_000)}0],"text":"${'{:,['.repeat(100_000)}"}`,
    );
    const { value } = readRequestBody(cut(many, [10_000, 300_000]));
    expect(Object.keys(value as object)).toHaveLength(20_000);
  });

  test('may be as deep as a hundred levels, and no string counts as depth', () => {
    const deep = `${'['.repeat(100)}"${'['.repeat(200)}"${']'.repeat(100)}`;
    expect(textOf(readRequestBody([Buffer.from(deep)]).write([]))).toBe('[]');
  });
});

function attempt<T>(run: () => T): T | undefined;
function attempt<T>(run: () => T, error: true): unknown;
function attempt<T>(run: () => T, error?: true): unknown {
  try {
    const value = run();
    return error ? undefined : value;
  } catch (caught) {
    return error ? caught : undefined;
  }
}
