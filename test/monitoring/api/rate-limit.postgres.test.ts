import { describe, expect, test } from 'vitest';
import { MonitoringPath } from '../../../src/contracts/monitoring.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const LIST = MonitoringPath.monitors;

describe.skipIf(!hasPostgres)('two monitoring services on one database', () => {
  test('take 120 requests a minute of a key in all, and tell how many are left', async () => {
    const { open } = await testDatabase();
    const both = [
      await startService({ openStore: () => open() }),
      await startService({ openStore: () => open() }),
    ];
    const key = (await both[0]?.createKey()) ?? '';
    const call = async (at: number) => await both[at % 2]?.call('GET', LIST, { key });
    // The first is asked until both know the key; each of these counts.
    let known = 0;
    await eventually(async () => {
      const statuses = [(await call(0))?.status, (await call(1))?.status];
      known += statuses.filter((status) => status === 200).length;
      return statuses[1] === 200;
    });
    const answers = await Promise.all(Array.from({ length: 150 }, (_, at) => call(at)));
    const taken = answers.filter((answer) => answer?.status === 200);
    expect(taken.length + known).toBe(120);
    const left = taken.map((answer) => Number(answer?.headers['x-ratelimit-remaining']));
    // Each answer has another number.
    expect([...left].sort((a, b) => a - b)).toEqual(taken.map((_, at) => at));
    const refused = answers.filter((answer) => answer?.status === 429);
    expect(refused).toHaveLength(150 - taken.length);
    for (const answer of refused) {
      expect(answer?.headers).toMatchObject({ 'x-ratelimit-remaining': '0' });
      expect(Number(answer?.headers['retry-after'])).toBeGreaterThan(30);
      expect(Number(answer?.headers['retry-after'])).toBeLessThanOrEqual(61);
    }
  });
});
