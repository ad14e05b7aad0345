import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJsonCondition } from '../../../src/monitoring/checks/json-value.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

const { http } = setUp();

const DOCUMENT = {
  status: 'ok',
  up: true,
  gone: null,
  'queue depth': 3,
  'dotted.key': { 'with "quotes"': 'x' },
  data: { queue: [{ depth: 180 }, { depth: 7, tags: ['a', 'b', 3, null] }], empty: [] },
  'größe-1': 1.5,
  contains: 1,
};

/** Checks a page that answers with this, for a condition. */
async function check(json: string, body: unknown = DOCUMENT) {
  const target = await startWebTarget((_request, response) =>
    response.end(typeof body === 'string' ? body : JSON.stringify(body)),
  );
  return await http(target.url, { json });
}

describe('a value in JSON', () => {
  test.each([
    'status == "ok"',
    '  status=="ok"  ',
    'status != "down"',
    'status contains "o"',
    'up == true',
    'up != false',
    'gone == null',
    'gone exists',
    '["queue depth"] >= 3',
    '["dotted.key"]["with \\"quotes\\""] == "x"',
    'data.queue[1].depth<100',
    'data.queue[1].depth <= 7',
    'data.queue[0].depth > 179.5',
    'data.queue[0].depth > -1e3',
    'data.queue[1].tags contains "b"',
    'data.queue[1].tags contains 3',
    'data.queue[1].tags contains null',
    'data.queue[1] contains "depth"',
    'data["queue"][0]["depth"] == 180',
    'größe-1 < 2',
    'contains == 1',
    'contains exists',
    'status != 1',
  ])('is as it is to be: %s', async (json) => {
    expect(await check(json)).toMatchObject({ ok: true, outcome: 'ok' });
  });

  test.each([
    ['data.queue[0].depth < 100', 'data.queue[0].depth is 180 but must be < 100'],
    ['data.queue[1].depth >= 7.5', 'data.queue[1].depth is 7 but must be >= 7.5'],
    ['status == "up"', 'status is “ok” but must be “up”'],
    ['status != "ok"', 'status is “ok” but must not be “ok”'],
    ['status == true', 'status is “ok” but must be true'],
    ['status < 5', 'status is “ok” but must be < 5'],
    ['up == "true"', 'up is true but must be “true”'],
    ['gone > 0', 'gone is null but must be > 0'],
    ['data.queue == 2', 'data.queue is a list of 2 but must be 2'],
    ['data.empty contains 1', 'data.empty is an empty list but must contain 1'],
    ['data contains "depth"', 'data is an object but must contain “depth”'],
    ['data.queue[2].depth < 1', 'data.queue[2].depth is missing but must be < 1'],
    ['data.queue["0"] exists', 'data.queue["0"] is missing but must exist'],
    ['data.queue.length > 0', 'data.queue.length is missing but must be > 0'],
    ['status[0] == "o"', 'status[0] is missing but must be “o”'],
    ['status.length == 2', 'status.length is missing but must be 2'],
    ['data.constructor exists', 'data.constructor is missing but must exist'],
    ['__proto__ exists', '__proto__ is missing but must exist'],
    ['data contains "toString"', 'data is an object but must contain “toString”'],
    ['toString.name == "toString"', 'toString.name is missing but must be “toString”'],
  ])('is not as it is to be: %s', async (json, reason) => {
    expect(await check(json)).toMatchObject({ ok: false, outcome: 'value', reason });
  });

  test('a member may be called like a built-in one of every object', async () => {
    const body = '{"__proto__": {"constructor": 1}, "hasOwnProperty": 2}';
    expect(await check('__proto__.constructor == 1', body)).toMatchObject({ ok: true });
    expect(await check('hasOwnProperty == 2', body)).toMatchObject({ ok: true });
    expect(await check('constructor exists', body)).toMatchObject({ ok: false });
  });

  test('the whole answer may be a list', async () => {
    expect(await check('[1] == "b"', ['a', 'b'])).toMatchObject({ ok: true });
  });

  test.each([
    ['', 'the answer is empty, so status cannot be read'],
    ['<html>', 'the answer is not JSON, so status cannot be read'],
    ['{"status":"ok"', 'the answer is not JSON, so status cannot be read'],
    ['7', 'status is missing but must be “ok”'],
    ['null', 'status is missing but must be “ok”'],
    [
      `{"pad":"${'x'.repeat(1024 * 1024)}","status":"ok"}`,
      'the answer is larger than 1024 KB, so status was not read',
    ],
    [
      '{"status":"<!channel> \\u202e\\u0000@everyone"}',
      'status is “<!channel> @everyone” but must be “ok”',
    ],
    [`{"status":"${'x'.repeat(500)}"}`, `status is “${'x'.repeat(59)}…” but must be “ok”`],
    ['{"status":1e999}', 'status is Infinity but must be “ok”'],
  ])('cannot be read from %#', async (body, reason) => {
    expect(await check('status == "ok"', body)).toMatchObject({
      ...{ ok: false, outcome: 'value', reason },
    });
  });

  test.each(['[', '{"a":'])('an answer of a million of %j is not parsed', async (piece) => {
    const body = piece.repeat(Math.floor((1024 * 1024) / piece.length));
    expect((await check('a exists', body)).reason).toBe(
      'the answer is nested more than 64 levels deep, so a cannot be read',
    );
  });

  test('an answer of 50,000 values is not parsed', async () => {
    expect((await check('[0] == 0', JSON.stringify(Array(50_000).fill(0)))).reason).toBe(
      'the answer has more than 50000 values, so [0] cannot be read',
    );
  });

  test('an answer with another status is not searched for the value', async () => {
    const target = await startWebTarget((_request, response) =>
      response.writeHead(500).end('{"status":"ok"}'),
    );
    expect(await http(target.url, { json: 'status == "ok"' })).toMatchObject({ outcome: 'status' });
  });
});

describe('a condition', () => {
  test.each([
    ['', 'start with a path, such as data.queue[0].depth < 100; not understood at the end'],
    ['< 100', 'start with a path, such as data.queue[0].depth < 100; not understood at “< 100”'],
    ['.a < 1', 'not understood at “.a < 1”'],
    [
      'data.queue',
      'the path must be followed by ==, !=, <=, >=, <, >, contains or exists, such as data.queue[0].depth < 100; not understood at the end',
    ],
    [
      'a = 1',
      'the path must be followed by ==, !=, <=, >=, <, >, contains or exists, such as data.queue[0].depth < 100; not understood at “= 1”',
    ],
    ['a..b == 1', 'not understood at “..b == 1”'],
    ['a[-1] == 1', 'not understood at “[-1] == 1”'],
    ['a[*] == 1', 'not understood at “[*] == 1”'],
    ["a['b'] == 1", "not understood at “['b'] == 1”"],
    ['a["\\q"] == 1', 'a name in brackets must be a JSON string'],
    ['a < "100"', '< must be followed by a number'],
    [
      'a <',
      '< must be followed by a number, such as data.queue[0].depth < 100; not understood at the end',
    ],
    ['a < 1e999', '< must be followed by a number'],
    ['a == ok', '== must be followed by a string in quotes, a number, true, false or null'],
    ['a === 1', 'not understood at “= 1”'],
    ['a == [1]', '== must be followed by a string in quotes'],
    ['a == 1 && b == 2', 'not understood at “1 && b == 2”'],
    ['a exists now', 'nothing may follow exists'],
    ['a existsnow', 'the path must be followed by'],
    ['a containsx', 'the path must be followed by'],
    ['length(a) > 1', 'not understood at “(a) > 1”'],
    [`${'a.'.repeat(20)}a exists`, 'a path has at most 20 steps'],
  ])('%j is refused in a sentence', (text, sentence) => {
    expect(() => parseJsonCondition(text)).toThrow(sentence);
  });

  test('any text is read as a condition or refused with a sentence', () => {
    const piece = fc.oneof(
      fc.constantFrom('a', '.', '[', ']', '"', '\\', '0', '<', '=', '!', ' ', 'exists', 'contains'),
      fc.string({ unit: 'grapheme', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        try {
          expect(text).toContain(parseJsonCondition(text).pathText);
        } catch (error) {
          expect((error as Error).message).toMatch(/such as data\.queue|at most 20 steps/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
