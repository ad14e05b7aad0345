import { expect, test } from 'vitest';
import { alertData } from '../../../src/bot/alerts/alert-data.ts';
import { newGroup, withMembers } from '../../../src/bot/incidents/groups.ts';
import { newIncident } from '../../../src/bot/incidents/incidents.ts';

const around = { nowMs: 1000, newId: () => 'g1', placesFor: () => ['slack:C1'] };

const incidentOf = (id: string, more: Partial<ReturnType<typeof newIncident>> = {}) => ({
  ...newIncident(
    {
      ...{ id, name: `Shop ${id}`, target: 'https://me:pw@shop.example/?token=t0p' },
      ...{ check_type: 'HTTP', status: 'DOWN', interval_seconds: 60 },
    },
    [],
    around,
  ),
  ...more,
});

test('names the first 20 monitors of a group, ongoing ones first, with their targets but no secrets', () => {
  const over = incidentOf('over', { id: 'over', status: 'UP', endedAtMs: 2000 });
  const down = Array.from({ length: 24 }, (_, n) => incidentOf(`${n}`, { id: `${n}` }));
  const incidents = [over, ...down];
  const group = withMembers(newGroup('slack:C1', around, undefined), incidents);
  const data = alertData(group, incidents);
  expect(data?.monitors.map(({ id }) => id)).toEqual(down.slice(0, 20).map(({ id }) => id));
  expect(data?.moreMonitors).toBe(5);
  expect(data?.monitors[0]?.target).toMatch(/^https:\/\/.*shop\.example/);
  expect(JSON.stringify(data)).not.toMatch(/pw|t0p/);
});

test('is acknowledged once someone acknowledged all ongoing outages of it', () => {
  const acknowledged = { by: 'Ada', atMs: 1 };
  const [free, taken] = [incidentOf('1'), incidentOf('2', { acknowledged })];
  const groupOf = (...all: (typeof free)[]) =>
    withMembers(newGroup('slack:C1', around, undefined), all);
  expect(alertData(groupOf(free, taken))?.state).toBe('open');
  expect(alertData(groupOf(taken))?.state).toBe('acknowledged');
  expect(alertData(taken)?.state).toBe('acknowledged');
  expect(alertData({ ...taken, endedAtMs: 2000 })?.state).toBe('resolved');
});

test('has a higher sequence for a later outage, whatever its version', () => {
  const before = incidentOf('1', { version: 9 });
  const after = incidentOf('1', { version: 1, openedAtMs: 61_000 });
  expect(alertData(after)?.sequence).toBeGreaterThan(alertData(before)?.sequence ?? 0);
});
