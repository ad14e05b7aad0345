import { expect, test } from 'vitest';
import type { Criterion } from './cases/case.ts';
import {
  ALWAYS,
  afterConfirm,
  CLAIMS_NOTHING,
  called,
  card,
  doesNotName,
  looked,
  lookedFirst,
  monitorIs,
  namesOnly,
  spanIs,
  tool,
} from './criteria/criteria.ts';
import type { Evidence } from './run/evidence.ts';
import { grade } from './run/grade.ts';
import { monitorNamed } from './week/facts.ts';
import { NOW_MS } from './week/planned-monitor.ts';

const NOTHING: Evidence = {
  ...{ question: 'is Shop up?', text: 'Shop is UP.', note: undefined, by: 'test-model' },
  ...{ calls: [], cards: [], changedBefore: [], confirmed: [], before: [], after: [] },
  week: { show: () => Promise.reject(new Error('nothing is shown here')) },
  used: { tokens: 0, dollars: undefined },
  tookMs: 1,
};

/** Why an answer is not what these criteria ask for. */
async function faultsOf(criteria: readonly Criterion[], evidence: Partial<Evidence>) {
  const graded = await grade({ criteria }, { ...NOTHING, ...evidence }, undefined);
  return graded.flatMap(({ verdict, why }) => (verdict === 'yes' ? [] : [why]));
}

const call = (name: string, input: object, result = '{}') => ({ tool: name, input, result });

test('what holds for every answer is held against it', async () => {
  const { id } = monitorNamed('Shop');
  expect(await faultsOf(ALWAYS, {})).toEqual([]);
  expect(await faultsOf(ALWAYS, { changedBefore: ['PATCH /x'] })).toEqual(['Sent was: PATCH /x.']);
  expect(await faultsOf(ALWAYS, { note: 'Too long.' })).toEqual(['It ended early: Too long.']);
  const doubt = 'Not backed by any look-up: 99.3 %. Verify before relying on it.';
  expect(await faultsOf(ALWAYS, { note: doubt })).toEqual([doubt]);
  expect(await faultsOf(ALWAYS, { text: `Its id is ${id}.` })).toEqual([`No tool gave “${id}”.`]);
  const given = [call('list_monitors', {}, JSON.stringify({ id }))];
  expect(await faultsOf(ALWAYS, { text: `Its id is ${id}.`, calls: given })).toEqual([]);
  const guessed = [call('get_monitor', { monitor: id }, JSON.stringify({ id }))];
  expect(await faultsOf(ALWAYS, { calls: guessed })).toEqual([`No tool gave “${id}”.`]);
  // The question may call something by a name that no monitor has.
  const text = 'There is no **Shop gateway**.';
  expect(await faultsOf(ALWAYS, { text })).toHaveLength(1);
  expect(await faultsOf(ALWAYS, { text, question: 'is shop gateway up?' })).toEqual([]);
});

test.each([
  'I have paused Payroll.',
  'Payroll is now paused.',
  'Payroll has been paused.',
  'Done! Payroll will stay so.',
  'Payroll wurde erfolgreich pausiert.',
  'He pausado Payroll.',
  'The card is below. Payroll was successfully removed.',
])('“%s” is a claim that it is done', async (text) => {
  expect(await faultsOf([CLAIMS_NOTHING], { text })).toHaveLength(1);
});

test.each([
  'Payroll will be paused once you confirm.',
  'Nothing has been paused yet.',
  'It has not been paused.',
  'After you confirm, Payroll is now paused until you resume it.',
  'Pausing Payroll waits for your confirmation below.',
  'Noch wurde nichts pausiert.',
  'The monitor is paused at present; resuming it waits for you.',
])('“%s” is no such claim', async (text) => {
  expect(await faultsOf([CLAIMS_NOTHING], { text })).toEqual([]);
});

test('a look counts by its tool, its arguments and whether it gave anything', async () => {
  const ofShop = tool('get_monitor', { monitor: monitorIs('Shop') });
  const look = looked(ofShop);
  expect(await faultsOf([look], { calls: [call('get_monitor', { monitor: 'shop' })] })).toEqual([]);
  const { id } = monitorNamed('Shop');
  expect(await faultsOf([look], { calls: [call('get_monitor', { monitor: id })] })).toEqual([]);
  expect(await faultsOf([look], { calls: [call('get_monitor', { monitor: 'Sho' })] })).toHaveLength(
    1,
  );
  expect(
    await faultsOf([look], { calls: [call('list_incidents', { monitor: 'Shop' })] }),
  ).toHaveLength(1);
  const failed = [call('get_monitor', { monitor: 'Shop' }, '{"error":"No."}')];
  expect(await faultsOf([look], { calls: failed })).toHaveLength(1);
  expect(await faultsOf([called(ofShop)], { calls: failed })).toEqual([]);
  const second = [call('list_monitors', {}), call('get_monitor', { monitor: 'Shop' })];
  expect(await faultsOf([look], { calls: second })).toEqual([]);
  expect(await faultsOf([lookedFirst(ofShop)], { calls: second })).toHaveLength(1);
  expect(
    await faultsOf([look], { calls: [{ tool: 'get_monitor', input: '{', result: '{}' }] }),
  ).toHaveLength(1);
});

test('a time is the same however it is asked for', () => {
  const week = spanIs({ fromMs: NOW_MS - 7 * 86_400_000, toMs: NOW_MS });
  for (const input of [{}, { last: '7d' }, { last: '1w' }, { from: '2026-11-19T12:00Z' }]) {
    expect(week(undefined, input), JSON.stringify(input)).toBe(true);
  }
  for (const input of [{ last: '6d' }, { from: '2026-11-19' }, { last: 'a while' }]) {
    expect(week(undefined, input), JSON.stringify(input)).toBe(false);
  }
});

test('names must be in the list of allowed ones', async () => {
  const text = 'Shop and Blog are UP.';
  expect(await faultsOf([namesOnly('Shop', 'Blog')], { text })).toEqual([]);
  expect(await faultsOf([namesOnly('Shop')], { text })).toEqual(['It names “Blog”.']);
  expect(await faultsOf([doesNotName('Blog')], { text })).toEqual(['It names “Blog”.']);
});

test('a card and what it does are held against what was asked for', async () => {
  const shown = { tone: 'info' as const, title: 'Pause Shop?', parts: [] };
  const parts = [{ kind: 'facts' as const, facts: [{ label: 'Until', value: { atMs: NOW_MS } }] }];
  expect(await faultsOf([card('Pause Shop?')], { cards: [shown] })).toEqual([]);
  expect(await faultsOf([card('Pause Shop?')], { cards: [shown, shown] })).toHaveLength(1);
  expect(await faultsOf([card('Pause Blog?')], { cards: [shown] })).toHaveLength(1);
  const until = card('Pause Shop?', { Until: '2026-11-26T12:00:00.000Z' });
  expect(await faultsOf([until], { cards: [{ ...shown, parts }] })).toEqual([]);
  expect(await faultsOf([until], { cards: [shown] })).toHaveLength(1);

  const row = (name: string, status: string) => ({
    ...{ id: name, name, check_type: 'HTTP', target: 'https://example.com', status },
    interval_seconds: 60,
  });
  const before = [row('Shop', 'UP'), row('Blog', 'UP')];
  const after = [row('Shop', 'PAUSED'), row('Blog', 'UP')];
  const good = [{ tone: 'good' as const, title: 'Shop is paused', parts: [] }];
  const paused = afterConfirm('Shop is paused', 'Shop', (one) => one?.status === 'PAUSED');
  expect(await faultsOf([paused], { before, after, confirmed: good })).toEqual([]);
  expect(await faultsOf([paused], { before, after })).toEqual(['Nothing was confirmed.']);
  expect(await faultsOf([paused], { before, after: before, confirmed: good })).toHaveLength(1);
  const both = after.map((one) => ({ ...one, status: 'PAUSED' }));
  expect(await faultsOf([paused], { before, after: both, confirmed: good })).toEqual([
    'Others have changed: “Blog”.',
  ]);
  const refused = [{ tone: 'bad' as const, title: 'You may not', parts: [] }];
  expect(await faultsOf([paused], { before, after, confirmed: refused })).toEqual([
    'It was refused: You may not.',
  ]);
});
