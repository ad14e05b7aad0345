import { expect, test } from 'vitest';
import { timeSpanInWords, timeSpanOf } from '../../../src/bot/tools/time-span.ts';

const NOW = '2026-11-26T12:00:00.000Z';
const spanOf = (asked: { last?: string; from?: string; to?: string }) => {
  const { fromMs, toMs } = timeSpanOf(asked, '7d', Date.parse(NOW));
  return [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
};

test.each([
  [{}, '2026-11-19T12:00:00.000Z', NOW],
  [{ last: '30m' }, '2026-11-26T11:30:00.000Z', NOW],
  [{ last: '24 hours' }, '2026-11-25T12:00:00.000Z', NOW],
  [{ last: '2w' }, '2026-11-12T12:00:00.000Z', NOW],
  [{ from: '2026-11-20' }, '2026-11-20T00:00:00.000Z', NOW],
  [
    { from: '2026-11-20', to: '2026-11-20' },
    '2026-11-20T00:00:00.000Z',
    '2026-11-21T00:00:00.000Z',
  ],
  [
    { from: '2026-11-20T09:30', to: '2026-11-20T11:00+01:00' },
    '2026-11-20T09:30:00.000Z',
    '2026-11-20T10:00:00.000Z',
  ],
  [{ from: '2026-11-26', to: '2026-12-24' }, '2026-11-26T00:00:00.000Z', NOW],
])('%j is from %s to %s', (asked, from, to) => {
  expect(spanOf(asked)).toEqual([from, to]);
});

test.each([
  [{ last: 'yesterday' }, /I didn't understand “yesterday”. Use 30s, 5m, 2h or 1d/],
  [{ last: '7' }, /I didn't understand “7”/],
  [{ last: '9999w' }, /Choose 1 second to 400 days/],
  [{ last: '7d', from: '2026-11-20' }, /not both/],
  [{ to: '2026-11-20' }, /needs "from"/],
  [{ from: 'Monday' }, /"from" must be a time such as/],
  [{ from: '2026-11-31T00:00Z' }, /"from" must be/],
  [{ from: '2026-02-30' }, /"from" must be a time such as/],
  [{ from: '2026-02-30T10:00+01:00' }, /"from" must be a time such as/],
  [{ from: '2026-11-20', to: '2026-11-19' }, /before "to"/],
  [{ from: '2027-01-01' }, /in the past/],
  [{ from: '2020-01-01' }, /longer than 400 days/],
])('%j is refused with what to do', (asked, complaint) => {
  expect(() => spanOf(asked)).toThrow(complaint);
});

test.each([
  [{}, 'the last 7 days'],
  [{ last: '1h' }, 'the last hour'],
  [{ last: '24h' }, 'the last 24 hours'],
  [{ last: 'x' }, 'a time'],
  [{ from: '2026-11-20' }, 'the time since 2026-11-20'],
  [{ from: '2026-11-20', to: '2026-11-21' }, '2026-11-20 to 2026-11-21'],
])('%j is said as “%s”', (asked, words) => {
  expect(timeSpanInWords(asked, '7d')).toBe(words);
});
