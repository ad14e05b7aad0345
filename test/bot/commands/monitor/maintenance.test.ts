import { expect, test } from 'vitest';
import { formProblems } from '../../../../src/bot/commands/form.ts';
import { planMaintenance } from '../../../../src/bot/commands/monitor/maintenance.ts';
import type { Invocation, Reply } from '../../../../src/bot/shared/invocation.ts';
import type { Person } from '../../../../src/bot/shared/place.ts';
import type { PlannedWindowList } from '../../../../src/contracts/monitoring-additions.ts';
import { CHANNEL, cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };
const member: Person = { id: 'U1', name: 'Ada', mayManage: async () => false };

/** A bot over the real service, with heartbeats. */
async function start(names = ['Shop', 'Shop eu', 'Blog eu']) {
  const service = await startService();
  for (const name of names) {
    await service.create({ name, check_type: 'HEARTBEAT', target: `job of ${name}` });
  }
  const { bot, ...running } = await startTestBot({ watched: service });
  const handle = (request: Invocation['request'], person = admin) =>
    running.send(request, { person });
  const say = async (line: string, person?: Person) =>
    textOf(cardOf(await handle({ line }, person)));
  const press = (reply: Reply, label: string, person = admin) =>
    running.press(reply, label, { person });
  const planned = async () => {
    const { body } = await service.get('/api/v1/public/maintenance?days=31');
    return (body as unknown as PlannedWindowList).windows.map(({ name }) => name).sort();
  };
  const statuses = async () => (await service.list()).map(({ status }) => status);
  return { service, bot, handle, say, press, planned, statuses };
}

test('a weekly window is planned, shown and removed', async () => {
  const { handle, say, press, planned } = await start();
  expect(await say('/monitor maintenance')).toContain('No maintenance in the next 7 days');
  const line =
    '/monitor maintenance reason="updates of the database" shop sat 02:00 for 2h Europe/Berlin';
  const set = await handle({ line });
  expect(set).toMatchObject({ private: false });
  for (const words of [
    'Maintenance planned: Shop',
    'Every Sat from 02:00 (Europe/Berlin), for 2 hours',
    'updates of the database',
    '1 monitor.',
    'By Grace',
  ]) {
    expect(textOf(cardOf(set))).toContain(words);
  }
  expect(await planned()).toEqual(['Shop']);
  expect(await say('/monitor maintenance', member)).toMatch(
    /Sat \d+ \w+ 02:00–04:00 \(Europe\/Berlin\)[\s\S]*Shop[\s\S]*updates of the database/,
  );
  expect(await say('/monitor maintenance Shop', member)).toContain('Every Sat from 02:00');
  expect(await say('/monitor show Shop', member)).toMatch(/Maintenance.*Sat \d+ \w+ 02:00–04:00/);
  expect(textOf(cardOf(await press(set, 'Remove', member)))).toContain(
    'Only people who can manage',
  );
  expect(await planned()).toEqual(['Shop']);
  expect(textOf(cardOf(await press(set, 'Remove')))).toContain('Maintenance removed: Shop');
  expect(await planned()).toEqual([]);
  expect(await say('/monitor maintenance Shop')).toContain('Nothing is planned');
});

test('a window that begins now is in force until it is removed', async () => {
  const { say, statuses } = await start(['Shop']);
  expect(await say('/monitor maintenance Shop now for 30m')).toContain('Maintenance planned: Shop');
  expect(await statuses()).toEqual(['MAINTENANCE']);
  expect(await say('/monitor maintenance')).toMatch(/Now, until .*\(UTC\)/);
  expect(await say('/monitor maintenance Shop off')).toContain('Maintenance removed: Shop');
  expect(await statuses()).toEqual(['PENDING']);
});

test('several monitors get one window, and the answer counts them', async () => {
  const { say, planned } = await start();
  const set = await say('/monitor maintenance all with “eu” in the name now for 30m');
  expect(set).toContain('Maintenance planned: Shop eu, Blog eu');
  expect(set).toContain('2 monitors.');
  expect(await planned()).toEqual(['Blog eu', 'Shop eu']);
  expect(await say('/monitor maintenance all now for 1h')).toContain('3 monitors.');
  expect(await say('/monitor maintenance')).toContain('Blog eu, Shop eu, Shop');
  expect(await say('/monitor maintenance all off')).toContain('3 monitors.');
  expect(await planned()).toEqual([]);
  expect(await say('/monitor maintenance all with asia now for 1h')).toContain(
    'No monitor with “asia”',
  );
});

test('a monitor without room for a window is named and left as it is', async () => {
  const { say, planned, service } = await start(['Shop', 'Cart']);
  const shop = (await service.list()).find(({ name }) => name === 'Shop');
  const window = { starts_at: '2998-12-01T22:00', timezone: 'Europe/Berlin' };
  const windows = Array.from({ length: 20 }, (_, at) => ({ ...window, duration_minutes: at + 1 }));
  const path = `/api/v1/public/monitors/${shop?.id}/maintenance`;
  await service.call('PUT', path, { json: { windows } });
  const one = await say('/monitor maintenance Shop next sat 03:00 for 5m');
  expect(one).toContain('at most 20 windows');
  const both = await say('/monitor maintenance all next sat 03:00 for 5m');
  expect(both).toContain('Maintenance planned: Cart');
  expect(both).toContain('1 monitor not changed');
  expect(await planned()).toEqual(['Cart']);
});

test.each([
  '/monitor maintenance Shop now for 30m',
  '/monitor maintenance Shop off',
  '/monitor maintenance monitor=Shop when="now for 30m"',
  // It has passed in UTC, but not in New York.
  `/monitor maintenance Shop ${new Date(Date.now() - 7_200_000).toISOString().slice(0, 10)} 00:00 for 1m America/New_York`,
  '/monitor maintenance Shop sat 02:00 for ages',
])('a person who does not manage monitors cannot plan: %s', async (line) => {
  const { say, planned } = await start(['Shop']);
  expect(await say(line, member)).toContain(
    'Only people who can manage the workspace or server can',
  );
  expect(await planned()).toEqual([]);
});

test.each([
  ['/monitor maintenance Nothing now for 30m', 'No monitor called “Nothing”'],
  ['/monitor maintenance eu now for 30m', '2 monitors match “eu”'],
  ['/monitor maintenance Shop sat 02:00', 'Say how long'],
  ['/monitor maintenance when="now for 30m"', 'Say which monitor'],
])('%s is refused: %s', async (line, says) => {
  const { say, planned } = await start();
  expect(await say(line)).toContain(says);
  expect(await planned()).toEqual([]);
});

test('a button opens a form that plans a window, for people with the right', async () => {
  const { handle, bot, press, planned } = await start();
  const list = await handle({ line: '/monitor maintenance' });
  const action = cardOf(list).actions?.[0];
  expect(action?.label).toBe('Plan maintenance');
  const opened = async (person: Person) =>
    await bot.formOfPress(action ?? { command: '', values: {} }, async () => ({
      place: CHANNEL,
      person,
    }));
  expect((await opened(admin))?.command.name).toBe(planMaintenance.name);
  expect(await opened(member)).toBeUndefined();
  expect(textOf(cardOf(await press(list, 'Plan maintenance')))).toContain(
    '/monitor maintenance <monitor> <when>',
  );
  const values = { monitor: 'all with eu', when: 'sat 02:00 for 2h', reason: '' };
  expect(formProblems(planMaintenance, { ...values, when: 'someday' })).toMatchObject({
    when: expect.stringContaining("I didn't understand “someday”"),
  });
  expect(formProblems(planMaintenance, values)).toEqual({});
  await handle({ command: planMaintenance.name, values });
  expect(await planned()).toEqual(['Blog eu', 'Shop eu']);
});
