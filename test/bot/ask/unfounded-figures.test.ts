import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unfoundedFigures } from '../../../src/bot/ask/unfounded-figures.ts';
import { long } from '../../helpers/long.ts';

const RESULT = JSON.stringify({
  as_of: '2026-11-26T12:00:00.000Z',
  monitor: 'Shop',
  span: { uptime_percent: 99.954, down_seconds: 270, response_time_ms: { mean: 410.2 } },
  span_before: { uptime_percent: 99.1 },
  incidents: [{ started_at: '2026-11-26T09:15:00.000Z', ended_at: '2026-11-26T10:20:00.000Z' }],
  monitor_id: 'mon_6949edf4058a8570',
});

test.each([
  'Shop was up 99.954 % of the time.',
  'Shop war zu 99,954 % verfügbar.',
  'Rounded, that is 99.95 %, or 99.9%, or 100 %.',
  'Down for 0.046 % of it.',
  'That is 0.9 % more than before, when it was 99.1 %.',
  'It was down for 270 seconds, about 4.5 minutes, or 4 minutes and 30 seconds.',
  'It took 410 ms on average, 0.41 s.',
  'The incident began at 09:15 UTC and ended at 10:20, so it lasted 1 hour 5 minutes.',
  'Um 10:15 Uhr (MEZ) fiel er aus, für 65 Minuten.',
  'Duró 1 hora y 5 minutos.',
  'Its id is mon_6949edf4058a8570.',
  'There were 3 incidents of 12 monitors.',
  'Run `sleep 90 s` and\n```\nuptime 12.34 %\n```\n',
  'In version 2.5 of 2026 with 7 people.',
])('%s follows from what was looked up', (answer) => {
  expect(unfoundedFigures(answer, [RESULT])).toEqual([]);
});

test.each([
  ['Shop was up 97.3 % of the time.', ['97.3 %']],
  ['Shop was up 99.123 % of the time.', ['99.123 %']],
  ['Shop war zu 99,123 % verfügbar.', ['99,123 %']],
  ['It was down for 45 minutes.', ['45 minutes']],
  ['It was down for 2 hours 10 minutes since 08:31.', ['2 hours 10 minutes', '08:31']],
  ['The mean is 950 ms.', ['950 ms']],
  ['Look at mon_0000000000000000.', ['mon_0000000000000000']],
  ['Es waren 3 Tage.', ['3 Tage']],
])('%s has figures that nothing gave', (answer, figures) => {
  expect(unfoundedFigures(answer, [RESULT])).toEqual(figures);
});

test('accepts figures from the question', () => {
  const asked = 'Was it down for 45 minutes, as Bob says?';
  expect(unfoundedFigures('Not for 45 minutes.', [RESULT, asked])).toEqual([]);
});

test('names at most five figures, each once', () => {
  const answer = [11, 12, 13, 14, 15, 16, 16].map((n) => `${n}.5 hours`).join(', ');
  expect(unfoundedFigures(answer, ['{}'])).toHaveLength(5);
});

test('no text takes long to read', () => {
  const pieces = [
    '1 s ',
    '12:34 ',
    '99.9 % ',
    '1,000',
    'a1',
    '2026-11-26T09:15:00Z ',
    '1 h 2 min ',
  ];
  const texts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(texts, texts, (answer, source) => {
      const repeated = (parts: string[]) => parts.join('').repeat(20_000).slice(0, 100_000);
      // CPU time of this process, so that a busy machine makes no difference.
      const before = process.cpuUsage();
      unfoundedFigures(repeated(answer), [repeated(source)]);
      expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
    }),
    { numRuns: long ? 200 : 15 },
  );
});
