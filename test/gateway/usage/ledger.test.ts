import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openUsageDays } from '../../../src/gateway/usage/days.ts';
import type { UsageLedger, UsageMeter } from '../../../src/gateway/usage/ledger.ts';
import type { RequestEnd, UsageRecord, UsageRow } from '../../../src/store/usage.ts';
import { eventually } from '../../helpers/eventually.ts';
import { keyWith, NOON_MS, openLedger, recordsIn } from '../../helpers/gateway/usage-ledger.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { folderOfFiles, openTestStore } from '../../helpers/test-store.ts';

const DAY_MS = 86_400_000;

const tokens = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});

/** Meters one request from its beginning to its end. */
function request(
  ledger: UsageLedger,
  options: { key?: string; model?: string; used?: [number, number]; end?: RequestEnd } = {},
): void {
  const { key, model = 'one', used = [3, 2], end = 'complete' } = options;
  const meter = ledger.open(keyWith(undefined, key));
  meter.model = model;
  meter.usage = tokens(...used);
  meter.end(end);
}

/** Rows in a short form: day, key, model, requests, tokens. */
const short = (rows: UsageRow[]) =>
  rows.map(
    ({ day, keyId, model, requests, promptTokens, completionTokens }) =>
      `${day} ${keyId} ${model} ${requests} ${promptTokens}+${completionTokens}`,
  );

describe('a request', () => {
  test('leaves one record, made when it ended, with nothing of what was said', async () => {
    const folder = await folderOfFiles();
    const { ledger, clock, close } = await openLedger({ folder });
    const meter = ledger.open(keyWith());
    meter.model = 'one';
    meter.provider = 'openai';
    clock.nowMs += 400;
    meter.addText('Blue ');
    clock.nowMs += 800;
    meter.addText('light');
    meter.usage = tokens(12, 3);
    meter.end('complete');
    meter.end('client_gone');
    await close();
    expect(await recordsIn(folder)).toEqual([
      {
        atMs: NOON_MS + 1_200,
        keyId: 'key00001',
        model: 'one',
        provider: 'openai',
        promptTokens: 12,
        completionTokens: 3,
        estimated: false,
        latencyMs: 1_200,
        firstTokenMs: 400,
        end: 'complete',
      },
    ]);
  });

  const told = (meter: UsageMeter) => {
    meter.usage = tokens(7, 5);
  };
  const spoke = (meter: UsageMeter) => meter.addAnswer(1.25);
  const askedFor = { promptTokens: 100 };
  test.each<[string, Array<(meter: UsageMeter) => void>, RequestEnd, Partial<UsageRecord>]>([
    [
      'complete, told',
      [told, spoke],
      'complete',
      { promptTokens: 7, completionTokens: 5, estimated: false },
    ],
    [
      'complete, not told',
      [spoke],
      'complete',
      { ...askedFor, completionTokens: 2, estimated: true },
    ],
    [
      'left in the middle',
      [spoke, spoke],
      'client_gone',
      { ...askedFor, completionTokens: 3, estimated: true },
    ],
    [
      'left before the first word',
      [],
      'client_gone',
      { ...askedFor, completionTokens: 0, estimated: true },
    ],
    [
      'broken in the middle',
      [spoke],
      'upstream_error',
      { ...askedFor, completionTokens: 2, estimated: true },
    ],
    [
      'broken, but told',
      [told],
      'upstream_error',
      { promptTokens: 7, completionTokens: 5, estimated: false },
    ],
    [
      'failed before the first word',
      [],
      'upstream_error',
      { promptTokens: 0, completionTokens: 0, estimated: false },
    ],
    ['refused', [], 'refused', { promptTokens: 0, completionTokens: 0, estimated: false }],
  ])('that was %s has the tokens it used', async (_name, happenings, end, expected) => {
    const folder = await folderOfFiles();
    const { ledger, close } = await openLedger({ folder });
    const meter = ledger.open(keyWith());
    meter.estimatePrompt = () => 99.1;
    for (const happen of happenings) happen(meter);
    meter.end(end);
    await close();
    expect(await recordsIn(folder)).toMatchObject([{ ...expected, end }]);
  });

  test.each([
    [-1, 5],
    [1.5, 5],
    [5, Number.NaN],
    [1e15, 1],
  ])('for which the provider reported %d and %d tokens is estimated', async (prompt, answer) => {
    const folder = await folderOfFiles();
    const { ledger, close } = await openLedger({ folder });
    const meter = ledger.open(keyWith());
    meter.estimatePrompt = () => 4;
    meter.addAnswer(2);
    meter.usage = tokens(prompt, answer);
    expect(meter.tokens()).toEqual(tokens(4, 2));
    meter.end('complete');
    await close();
    expect(await recordsIn(folder)).toMatchObject([{ promptTokens: 4, estimated: true }]);
  });

  test('a request is recorded although its estimate fails, and its reserved tokens are given back', async () => {
    const folder = await folderOfFiles();
    const { ledger, close } = await openLedger({ folder });
    const key = keyWith({ tokensPerDay: 100 });
    const failing = ledger.open(key);
    failing.reserve(50, 50);
    failing.estimatePrompt = () => {
      throw new Error('deeply nested');
    };
    failing.end('complete');
    const odd = ledger.open(key);
    odd.reserve(100, 0);
    odd.estimatePrompt = () => Number.NaN;
    odd.addAnswer(Number.NaN);
    odd.end('complete');
    expect(ledger.left(key)).toEqual({ tokensPerDay: 100 });
    await close();
    expect(await recordsIn(folder)).toMatchObject([{ promptTokens: 0 }, { completionTokens: 0 }]);
  });
});

describe('the journal', () => {
  test('holds every request of a burst in few records, in order, and soon without being closed', async () => {
    const folder = await folderOfFiles();
    const { ledger, clock, close } = await openLedger({ folder });
    for (let n = 0; n < 1_234; n += 1) {
      clock.nowMs += 1;
      request(ledger, { used: [n, 0] });
    }
    const file = join(folder, 'gateway-usage', '2026-11-20.ndjson');
    await eventually(async () => (await readFile(file, 'utf8')).includes(',1233,'));
    expect((await readFile(file, 'utf8')).split('\n').length).toBeLessThan(10);
    await close();
    expect((await recordsIn(folder)).map(({ promptTokens }) => promptTokens)).toEqual(
      Array.from({ length: 1_234 }, (_, n) => n),
    );
  });

  test('loses nothing that ends while it is closed or after', async () => {
    const folder = await folderOfFiles();
    const { ledger, store } = await openLedger({ folder });
    request(ledger, { used: [1, 0] });
    const closing = ledger.close();
    request(ledger, { used: [2, 0] });
    await closing;
    request(ledger, { used: [3, 0] });
    await store?.close();
    const records = await recordsIn(folder);
    expect(records.map(({ promptTokens }) => promptTokens)).toEqual([1, 2, 3]);
  });

  test('keeps requests while the disk refuses them, and stores them when it can again', async () => {
    const folder = await folderOfFiles();
    // A file in the place of the journal's folder refuses every write, as a full disk does.
    const path = join(folder, 'gateway-usage');
    const { ledger, clock, lines, close } = await openLedger({ folder });
    await rm(path, { recursive: true, force: true });
    await writeFile(path, '');
    request(ledger, { used: [0, 0] });
    await eventually(() =>
      lines.some(({ msg }) => /could not store usage records; they are kept/.test(String(msg))),
    );
    for (let n = 1; n <= 12_500; n += 1) {
      if (n % 10 === 0) clock.nowMs += 1;
      request(ledger, { used: [n, 0] });
    }
    expect(short(await ledger.summary({}))).toEqual(
      ['2026-11-20 key00001 one 12501 78131250+25002'].map((row) => row.replace('+25002', '+0')),
    );
    await rm(path);
    await eventually(() => lines.some(({ msg }) => msg === 'usage records can be stored again'));
    await close();
    const kept = (await recordsIn(folder)).map(({ promptTokens }) => promptTokens);
    // The newest ten thousand at least, in order, and the log says how many are missing.
    expect(kept.length).toBeGreaterThanOrEqual(10_000);
    expect(kept.length).toBeLessThan(11_000);
    expect(kept).toEqual(Array.from(kept, (_, at) => 12_501 - kept.length + at));
    const lost = lines.filter(
      ({ msg }) => msg === 'usage records were lost while the disk was full',
    );
    expect(lost.reduce((sum, line) => sum + Number(line.requests), 0)).toBe(12_501 - kept.length);
  });
});

describe('the counts by day, key and model', () => {
  test('are the sums of the records, for any requests at any time and over restarts', async () => {
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant('request' as const),
          key: fc.constantFrom('key00001', 'key00002', 'bot'),
          model: fc.constantFrom('one', 'two'),
          used: fc.tuple(fc.nat(50), fc.nat(50)),
          end: fc.constantFrom<RequestEnd>('complete', 'client_gone', 'upstream_error', 'refused'),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('wait' as const),
          // Sometimes the clock is set back.
          ms: fc.integer({ min: -DAY_MS, max: 3 * DAY_MS }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
        const folder = await folderOfFiles();
        let opened = await openLedger({ folder });
        const sums = new Map<string, number[]>();
        let now = NOON_MS;
        let latest = now;
        for (const each of steps) {
          if (each.kind === 'wait') {
            // Over a restart nobody knows how late it was.
            now = Math.max(now + each.ms, NOON_MS);
            opened.clock.nowMs = now;
          }
          if (each.kind === 'restart') {
            now = Math.max(now, latest);
            await opened.close();
            opened = await openLedger({ folder, atMs: now });
          }
          if (each.kind === 'request') {
            request(opened.ledger, each);
            const day = Math.max(Math.floor(now / DAY_MS), Math.floor(latest / DAY_MS)) * DAY_MS;
            const row = `${new Date(day).toISOString().slice(0, 10)} ${each.key} ${each.model}`;
            const [requests = 0, prompt = 0, answer = 0] = sums.get(row) ?? [];
            const [p, a] = each.end === 'refused' ? [0, 0] : each.used;
            sums.set(row, [requests + 1, prompt + p, answer + a]);
          }
          if (each.kind !== 'wait') latest = Math.max(latest, now);
        }
        const expected = [...sums]
          .map(([row, [requests, prompt, answer]]) => `${row} ${requests} ${prompt}+${answer}`)
          .sort();
        const all = { fromDay: '2026-11-20' };
        expect(short(await opened.ledger.summary(all)).sort()).toEqual(expected);
        await opened.close();
        const again = await openLedger({ folder, atMs: Math.max(now, latest) });
        expect(short(await again.ledger.summary(all)).sort()).toEqual(expected);
        await again.close();
      }),
      { numRuns: long ? 300 : 5 },
    );
  });

  /** A closed folder in which a key used 30 tokens on the 20th, and the program ran on into the next day. */
  async function usedYesterday() {
    const folder = await folderOfFiles();
    const { ledger, clock, close } = await openLedger({ folder });
    request(ledger, { used: [10, 20] });
    await close();
    await reopen(folder, NOON_MS + DAY_MS);
    return { folder, tomorrowMs: clock.nowMs + DAY_MS };
  }

  /** Opens and closes the ledger; gives what a key with a budget has left, and all rows. */
  async function reopen(folder: string, atMs: number) {
    const { ledger, lines, close } = await openLedger({ folder, atMs });
    const left = await ledger.left(keyWith({ tokensPerDay: 100, tokensPerMonth: 100 }));
    const rows = short(await ledger.summary({ fromDay: '2026-11-01' }));
    await close();
    return { left, rows, lines };
  }

  const yesterday = ['2026-11-20 key00001 one 1 10+20'];

  test('outlive a restart, and the budgets with them', async () => {
    const { folder, tomorrowMs } = await usedYesterday();
    expect((await reopen(folder, NOON_MS)).left).toEqual({ tokensPerDay: 70, tokensPerMonth: 70 });
    expect((await reopen(folder, tomorrowMs)).left).toEqual({
      tokensPerDay: 100,
      tokensPerMonth: 70,
    });
    const nextMonthMs = Date.UTC(2026, 11, 1);
    const { left, rows } = await reopen(folder, nextMonthMs);
    expect(left).toEqual({ tokensPerDay: 100, tokensPerMonth: 100 });
    expect(rows).toEqual(yesterday);
  });

  test('a past day is added up once, and its journal is not read again', async () => {
    const { folder, tomorrowMs } = await usedYesterday();
    await rm(join(folder, 'gateway-usage', '2026-11-20.ndjson'));
    const { left, rows } = await reopen(folder, tomorrowMs);
    expect(left.tokensPerMonth).toBe(70);
    expect(rows).toEqual(yesterday);
  });

  test('a damaged day is added up again', async () => {
    const { folder, tomorrowMs } = await usedYesterday();
    const days = join(folder, 'gateway-usage-days');
    const [name = ''] = await readdir(days);
    await writeFile(join(days, name), '{"sum":"0000000000000000"}');
    expect((await reopen(folder, tomorrowMs)).rows).toEqual(yesterday);
    await rm(join(folder, 'gateway-usage', '2026-11-20.ndjson'));
    expect((await reopen(folder, tomorrowMs)).rows).toEqual(yesterday);
  });

  test('go on over midnight', async () => {
    const folder = await folderOfFiles();
    const { ledger, clock, close } = await openLedger({ folder });
    const key = keyWith({ tokensPerDay: 100 });
    const meter = ledger.open(key);
    meter.reserve(60, 40);
    clock.nowMs += DAY_MS / 2 - 1;
    request(ledger, { used: [1, 0] });
    clock.nowMs += 2;
    // Reserved tokens count in the new day too, and are used on the day on which the request ends.
    expect(ledger.left(key)).toEqual({ tokensPerDay: 0 });
    meter.usage = tokens(20, 30);
    meter.end('complete');
    clock.nowMs -= 5;
    request(ledger, { used: [2, 0] });
    expect(ledger.left(key)).toEqual({ tokensPerDay: 48 });
    const rows = ['2026-11-20 key00001 one 1 1+0', '2026-11-21 key00001 one 1 2+0'];
    const all = async () => short(await ledger.summary({ fromDay: '2026-11-20' }));
    expect(await all()).toEqual([...rows, '2026-11-21 key00001 unknown 1 20+30']);
    await close();
    const records = await recordsIn(folder);
    expect(records.map(({ atMs }) => atMs - Date.UTC(2026, 10, 21))).toEqual([-1, 1, 0]);
  });

  test('the counts of a day that ends while the program runs are stored without the journal', async () => {
    const folder = await folderOfFiles();
    const { log } = recordingLog();
    const store = await openTestStore({ folder, log });
    let now = NOON_MS;
    const days = await openUsageDays({ store, clockMs: () => now, log });
    const record = { keyId: 'bot', promptTokens: 1, completionTokens: 2, latencyMs: 0 };
    for (const model of ['one', 'two', 'one']) {
      days.add({ ...record, atMs: now, model, estimated: false, end: 'complete' });
      now += DAY_MS / 2;
      days.nowMs();
    }
    await days.tidy();
    const rows = [
      '2026-11-20 bot one 1 1+2',
      '2026-11-21 bot one 1 1+2',
      '2026-11-21 bot two 1 1+2',
    ];
    await store.close();
    expect((await reopen(folder, now)).rows).toEqual(rows);
  });

  test('are kept for 400 days, and then neither records nor counts are', async () => {
    const { folder } = await usedYesterday();
    expect((await reopen(folder, NOON_MS + 400 * DAY_MS)).rows).toEqual(yesterday);
    expect(await readdir(join(folder, 'gateway-usage'))).toHaveLength(1);
    expect((await reopen(folder, NOON_MS + 401 * DAY_MS)).rows).toEqual([]);
    expect(await readdir(join(folder, 'gateway-usage'))).toEqual([]);
    expect(await readdir(join(folder, 'gateway-usage-days'))).toEqual([]);
  });
});
