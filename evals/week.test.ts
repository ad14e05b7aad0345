import { expect, onTestFinished, test } from 'vitest';
import { createMonitoringClient } from '../src/clients/monitoring.ts';
import { temporaryFolder } from '../test/helpers/temporary-folder.ts';
import { MONITORS } from './week/plan.ts';
import { openWeeks, type Week } from './world/week.ts';

function clientOf(week: Week) {
  const client = createMonitoringClient({ baseUrl: week.url, apiKey: week.createKey() });
  onTestFinished(() => client.close());
  return client;
}

test('a recorded week is reused until something changes it', async () => {
  const weeks = openWeeks(await temporaryFolder());
  onTestFinished(weeks.close);
  const week = await weeks.fresh();
  const client = clientOf(week);
  const [{ id, name } = { id: '', name: '' }] = await client.list();
  // A check finds what was recorded, so it changes nothing.
  expect(await client.check(id)).toMatchObject({ status: 'UP' });
  expect(week.changes).toEqual([]);
  expect(await weeks.fresh()).toBe(week);

  await client.pause(id);
  // The service refuses an address of this machine once it has looked the name up. Here no name is.
  await client.create({ check_type: 'HTTP', name: 'New', target: 'http://localhost:1/' });
  expect(week.changes).toHaveLength(2);
  expect(await week.list()).toHaveLength(MONITORS.length + 1);

  const next = await weeks.fresh();
  const monitors = await next.list();
  expect(monitors).toHaveLength(MONITORS.length);
  expect(monitors.find((one) => one.name === name)).toMatchObject({ status: 'UP' });
});
