import { expect, test } from 'vitest';
import type { ToolContext } from '../../../src/bot/tools/tool.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('the uptime of all monitors includes the first and the last day of the span', async () => {
  const monitoring: Partial<ToolContext['monitoring']> = {
    list: async () => [],
    days: async () => ({
      last: '2027-01-15',
      next: null,
      monitors: [
        {
          id: 'mon_1',
          up_ms: [DAY_MS, DAY_MS - HOUR_MS, DAY_MS, 11 * HOUR_MS],
          down_ms: [0, HOUR_MS, 0, HOUR_MS],
        },
      ],
    }),
  };
  const run = toolRunner(
    { url: 'http://127.0.0.1:9', key: 'none' },
    {
      monitoring: monitoring as ToolContext['monitoring'],
      nowMs: Date.parse('2027-01-15T12:00:00Z'),
    },
  );
  const { output } = await run('get_uptime', { last: '48h' });
  expect(output).toMatchObject({
    first_day: '2027-01-13',
    last_day: '2027-01-15',
    monitors: [{ monitor_id: 'mon_1', down_seconds: 7_200, watched_seconds: 216_000 }],
  });
});
