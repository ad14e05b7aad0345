import { expect, test, vi } from 'vitest';
import { createBudgets, readBudget } from '../../../src/bot/ask/budgets.ts';
import type { UsageEntry } from '../../../src/bot/usage/usage-log.ts';
import { cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';

const ADMIN = { id: 'U1', name: 'Ada', mayManage: async () => true };

test.each([
  ['200k/day', { tokens: 200_000, per: 'day' }],
  ['200K / day', { tokens: 200_000, per: 'day' }],
  ['5M/month', { tokens: 5_000_000, per: 'month' }],
  ['1,500 tokens a day', { tokens: 1_500, per: 'day' }],
  ['1.5k per month', { tokens: 1_500, per: 'month' }],
  ['999/day', undefined],
  ['0k/day', undefined],
  ['-5k/day', undefined],
  ['200k', undefined],
  ['200k/week', undefined],
  [`${'9'.repeat(40)}/day`, undefined],
  ['much', undefined],
])('%s is read as %j', (text, budget) => {
  expect(readBudget(text)).toEqual(budget);
});

test('a channel without budget learns when it resets, and no model is asked', async () => {
  const bot = await startTestBot();
  const say = async (line: string) => textOf(cardOf(await bot.say(line, { person: ADMIN })));
  expect(await say('/askwatch budget')).toContain('has no token budget');
  expect(await say('/askwatch budget 1k/day')).toContain('1,000 tokens a day');
  bot.provider.answerWith('Fine.');
  expect((await readAnswer(await bot.say('/ask one'), 't1')).text).toBe('Fine.');
  expect(await say('/askwatch budget')).toMatch(/\d+ are used\./);

  bot.provider.answerWith('word '.repeat(1_200));
  await readAnswer(await bot.say('/ask two'), 't1');
  // Usage is read again after some seconds.
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    vi.setSystemTime(Date.now() + 6_000);
    const asked = bot.provider.calls.length;
    const { text, end } = await readAnswer(await bot.say('/ask three'), 't1');
    expect(text).toBe('');
    expect(end.note).toMatch(
      /^This channel has used up its budget of 1,000 tokens a day\. It resets in .+\. People who can manage/,
    );
    expect(bot.provider.calls).toHaveLength(asked);
    const elsewhere = await bot.say('/ask four', {
      place: { platform: 'console', channel: 'other' },
    });
    expect((await readAnswer(elsewhere, 't9')).end.note).toBeUndefined();
    expect(await say('/askwatch budget default')).toContain('Token budget removed');
    expect((await readAnswer(await bot.say('/ask five'), 't1')).end.note).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test('an invalid budget is refused with an example', async () => {
  const bot = await startTestBot();
  const card = cardOf(await bot.say('/askwatch budget lots', { person: ADMIN }));
  expect(textOf(card)).toContain('such as 200k/day or 5M/month');
  expect(textOf(cardOf(await bot.say('/askwatch budget')))).toContain('has no token budget');
});

test('rules answer without a budget', async () => {
  const bot = await startTestBot({
    models: [{ id: 'fast-8k', owned_by: 'askwatch', supported_parameters: [] }],
  });
  await bot.say('/askwatch budget 1k/day', { person: ADMIN });
  bot.service.add({ name: 'Shop', status: 'DOWN' });
  const { end } = await readAnswer(await bot.say('/ask what is down?'), 't1');
  expect(end.note).toBeUndefined();
});

test('days and months begin at 00:00 UTC', async () => {
  const asked: number[] = [];
  const place = { platform: 'console', channel: 'general' };
  const budgetsOf = (per: 'day' | 'month') =>
    createBudgets({
      channelDefaults: { of: async () => ({ budget: { tokens: 1_000, per } }) },
      usageLog: {
        async since(_place, fromMs) {
          asked.push(fromMs);
          return [];
        },
      },
      nowMs: () => Date.parse('2026-12-31T22:30:00Z'),
    });
  expect(await budgetsOf('day').of(place)).toMatchObject({ endsInMs: 90 * 60_000 });
  expect(await budgetsOf('month').of(place)).toMatchObject({ endsInMs: 90 * 60_000 });
  expect(asked.map((ms) => new Date(ms).toISOString())).toEqual([
    '2026-12-31T00:00:00.000Z',
    '2026-12-01T00:00:00.000Z',
  ]);
});

test('an answer that uses up the budget makes no further look-up and says why it ends', async () => {
  const bot = await startTestBot();
  await bot.say('/askwatch budget 2k/day', { person: ADMIN });
  let rounds = 0;
  bot.provider.answerWith(() => {
    rounds += 1;
    const input = JSON.stringify({ limit: rounds });
    return { text: 'word '.repeat(600), calls: [{ name: 'list_monitors', arguments: input }] };
  });
  const { end } = await readAnswer(await bot.say('/ask how is it?'), 't1');
  expect(end.note).toMatch(/^This channel has used up its budget of 2,000 tokens a day\./);
  expect(end.actions).not.toEqual([]);
  // One call of the model takes less than the budget, and two take more.
  expect(rounds).toBe(2);
  expect(bot.provider.calls).toHaveLength(rounds);
});

test('usage counts look-ups and their tokens', async () => {
  const bot = await startTestBot();
  bot.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'Fine.'
      : { calls: [{ name: 'list_monitors', arguments: '{}' }] },
  );
  await readAnswer(await bot.say('/ask how is it?'), 't1');
  const usage = textOf(cardOf(await bot.say('/askwatch usage')));
  expect(usage).toMatch(/^1 answer with [\d,]+ tokens and 1 look-up in the last 30 days/);
  const rows: UsageEntry[] = [];
  for await (const row of bot.usageLog.everywhere(0)) rows.push(row);
  const { tokens = 0, lookupTokens = 0 } = rows[0] ?? {};
  // All but the first prompt and the words of the answer.
  expect(lookupTokens).toBeGreaterThan(tokens / 3);
  expect(lookupTokens).toBeLessThan(tokens);
  const of = (count: number) => count.toLocaleString('en');
  expect(usage).toContain('Person | Answers | Tokens | Look-ups | Look-up tokens');
  expect(usage).toContain(`Ada | 1 | ${of(tokens)} | 1 | ${of(lookupTokens)}`);
});

test('usage has no look-up columns if nothing was looked up', async () => {
  const bot = await startTestBot();
  await readAnswer(await bot.say('/ask one'), 't1');
  expect(textOf(cardOf(await bot.say('/askwatch usage')))).toContain('Person | Answers | Tokens\n');
});
