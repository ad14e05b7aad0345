import { describe, expect, test } from 'vitest';
import { askedByChannel } from '../../../src/console/account/channels.ts';
import { modelsAnswer } from '../../../src/console/account/models.ts';
import { MAX_GROUPS } from '../../../src/console/account/spans.ts';
import { lastDays, type UsageDayRow, usageReport } from '../../../src/console/account/usage.ts';
import { curlFor } from '../../../src/console/page/account/example.ts';
import { readLimits, typedOf, withoutNone } from '../../../src/console/page/account/limits.ts';
import { contextText, rankWord } from '../../../src/console/page/account/ranks.ts';

const row = (day: string, keyId: string, model: string, tokens: number): UsageDayRow => ({
  ...{ day, keyId, model, requests: 3, complete: 1, client_gone: 1, upstream_error: 0, refused: 1 },
  ...{ promptTokens: tokens, completionTokens: 1, estimated: 1 },
});
const nameOf = (id: string) => `name of ${id}`;

describe('the report of usage', () => {
  const range = lastDays(7, Date.UTC(2026, 2, 3, 23, 59));

  test('has a place for every day of the UTC calendar, also at the end of a month', () => {
    expect(range).toEqual({ fromDay: '2026-02-25', toDay: '2026-03-03' });
    const report = usageReport([], { range, by: 'model', nameOf });
    expect(report.days).toEqual([
      ...['2026-02-25', '2026-02-26', '2026-02-27', '2026-02-28'],
      ...['2026-03-01', '2026-03-02', '2026-03-03'],
    ]);
    expect([report.groups, report.rows, report.total.requests]).toEqual([[], [], 0]);
  });

  test('adds up by key and by model, most tokens first', () => {
    const rows = [
      row('2026-02-25', 'a', 'small', 10),
      row('2026-03-03', 'a', 'large', 100),
      row('2026-03-03', 'b', 'small', 20),
    ];
    const byModel = usageReport(rows, { range, by: 'model', nameOf });
    expect(byModel.groups).toEqual([
      {
        id: 'large',
        name: 'large',
        requests: [0, 0, 0, 0, 0, 0, 3],
        tokens: [0, 0, 0, 0, 0, 0, 101],
      },
      {
        id: 'small',
        name: 'small',
        requests: [3, 0, 0, 0, 0, 0, 3],
        tokens: [11, 0, 0, 0, 0, 0, 21],
      },
    ]);
    expect(byModel.total).toEqual({
      ...{ requests: 9, complete: 3, left: 3, failed: 0, refused: 3 },
      ...{ promptTokens: 130, answerTokens: 3, estimated: 3 },
    });
    expect(byModel.rows.map(({ keyName, model }) => [keyName, model])).toEqual([
      ['name of a', 'large'],
      ['name of b', 'small'],
      ['name of a', 'small'],
    ]);
    const byKey = usageReport(rows, { range, by: 'key', keyId: 'b', nameOf });
    expect(byKey.groups.map(({ name }) => name)).toEqual(['name of b']);
    expect(byKey.keys.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('puts what is beyond the colours into one group, with nothing lost', () => {
    const rows = Array.from({ length: MAX_GROUPS + 3 }, (_, n) =>
      row('2026-03-01', 'a', `model-${n}`, 10 * (n + 1)),
    );
    const { groups, total } = usageReport(rows, { range, by: 'model', nameOf });
    expect(groups).toHaveLength(MAX_GROUPS + 1);
    expect(groups.at(-1)).toMatchObject({ name: '3 others' });
    expect(groups.at(-1)).not.toHaveProperty('id');
    const sum = groups.flatMap(({ tokens }) => tokens).reduce((all, one) => all + one, 0);
    expect(sum).toBe(total.promptTokens + total.answerTokens);
  });
});

test('look-ups and what they took are added up, also with answers of before they were counted', async () => {
  const answer = { atMs: 1, place: 'slack:C1', person: 'U1', name: 'Ada', model: 'fast-8k' };
  const bot = {
    usageLog: {
      async *everywhere() {
        yield { ...answer, tokens: 500 };
        yield { ...answer, tokens: 5_000, lookups: 2, lookupTokens: 4_000 };
        yield { ...answer, lookups: 1 };
      },
    },
    channelName: () => undefined,
    platformTitle: (name: string) => name,
  };
  const { channels, total } = await askedByChannel(bot, 0);
  const sum = { answers: 3, tokens: 5_500, uncounted: 1, lookups: 3, lookupTokens: 4_000 };
  expect(total).toEqual(sum);
  expect(channels).toMatchObject([{ ...sum, people: [sum], models: [sum] }]);
});

test('a catalog from elsewhere is cut to a size that can be shown', () => {
  const models = Array.from({ length: 1_002 }, (_, n) => ({
    ...{
      id: `${n}${'x'.repeat(500)}`,
      object: 'model' as const,
      created: 0,
      owned_by: 'y'.repeat(500),
    },
    description: 'z'.repeat(5_000),
  }));
  const { text, notice } = modelsAnswer(models, true);
  expect(text).toHaveLength(1_000);
  expect(notice).toContain('Showing the first 1000 of 1002.');
  expect(JSON.stringify(text[0]).length).toBeLessThan(1_000);
});

describe('limits as they are typed', () => {
  test.each([
    ['', null],
    ['  ', null],
    ['60', 60],
    ['1,000', 1_000],
    ['1 000 000', 1_000_000],
    ['1_000', 1_000],
  ])('%j is %j', (typed, limit) => {
    const read = readLimits({ ...typedOf({}), tokensPerDay: typed });
    expect(read).toMatchObject({ limits: { tokensPerDay: limit, requestsPerMinute: null } });
    const given = limit === null ? {} : { tokensPerDay: limit };
    if ('limits' in read) expect(withoutNone(read.limits)).toEqual(given);
  });

  test.each(['0', '-1', '1.5', '1e3', 'many', '0x10', '99999999999999999999'])(
    '%j is none',
    (typed) => {
      const read = readLimits({ ...typedOf({ requestsPerMinute: 5 }), tokensPerDay: typed });
      expect(read).toEqual({ problems: { tokensPerDay: expect.stringContaining('whole number') } });
    },
  );
});

describe('the example beside a key', () => {
  const request = { service: 'gateway', key: 'awg_x', origin: 'http://localhost:1' } as const;

  test('names the model where that is harmless in a shell', () => {
    expect(curlFor({ ...request, model: 'meta/llama-3.1:8b' })).toContain('"meta/llama-3.1:8b"');
  });

  test.each(["x'; rm -rf ~ #", 'a"b', '$(id)', 'a\nb', '', undefined])(
    'does not name %j',
    (model) => {
      expect(curlFor({ ...request, model })).toContain('"model": "<model>"');
    },
  );
});

describe('ranks', () => {
  test('are words that only the first and the last have for themselves', () => {
    const speeds = Array.from({ length: 9 }, (_, n) => rankWord('speed', n + 1, 9));
    expect(speeds[0]).toBe('slowest');
    expect(speeds[8]).toBe('fastest');
    expect(speeds.slice(1, 8)).toEqual([
      ...['slow', 'slow', 'medium', 'medium', 'medium', 'fast', 'fast'],
    ]);
    expect(rankWord('cost', 1, 1)).toBe('medium');
  });

  test.each([
    [8_192, '8K'],
    [200_000, '200K'],
    [512, '512'],
    [1_000_000, '1M'],
    [1_048_576, '1M'],
    [1_500_000, '1.5M'],
  ])('a context of %d is %s', (tokens, words) => {
    expect(contextText(tokens)).toBe(words);
  });
});
