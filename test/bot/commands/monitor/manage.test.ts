import { expect, test } from 'vitest';
import type { Reply } from '../../../../src/bot/shared/invocation.ts';
import type { Person } from '../../../../src/bot/shared/place.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };
const member: Person = { id: 'U1', name: 'Ada', mayManage: async () => false };

/** A bot over the real service with two heartbeats, which need no checks. */
async function start(options: Parameters<typeof startTestBot>[0] = {}) {
  const service = await startService();
  for (const name of ['Shop', 'Blog']) {
    await service.create({ name, check_type: 'HEARTBEAT', target: name.toLowerCase() });
  }
  const bot = await startTestBot({ watched: service, ...options });
  const say = (line: string, person = admin) => bot.say(line, { person });
  const press = (reply: Reply, label: string, person = admin) =>
    bot.press(reply, label, { person });
  const names = async () => (await service.list()).map(({ name }) => name).sort();
  return { service, say, press, names };
}

test('a monitor is paused, and resumed by the button under that or by its name', async () => {
  const { say, press, names } = await start();
  const paused = await say('/monitor pause shop');
  expect(textOf(cardOf(paused))).toContain('Shop is paused');
  expect(textOf(cardOf(paused))).toContain('By Grace');
  expect(paused).toMatchObject({ private: false });
  expect(await names()).toEqual(['Blog']);
  expect(textOf(cardOf(await press(paused, 'Resume')))).toContain('Shop resumed');
  expect(await names()).toEqual(['Blog', 'Shop']);
  expect(textOf(cardOf(await say('/monitor resume shop')))).toContain("Shop isn't paused");
  await say('/monitor pause Shop');
  expect(textOf(cardOf(await say('/monitor pause shop')))).toContain('Shop is already paused');
  expect(textOf(cardOf(await say('/monitor resume shop')))).toContain('Shop resumed');
  expect(await names()).toEqual(['Blog', 'Shop']);
});

test('a monitor is removed only after a confirmation, also when it is paused', async () => {
  const { say, press, names } = await start();
  await say('/monitor pause shop');
  const asked = await say('/monitor remove shop');
  expect(asked).toMatchObject({ kind: 'card', private: true });
  expect(textOf(cardOf(asked))).toContain('Remove Shop?');
  expect(cardOf(asked).actions).toMatchObject([{ label: 'Remove' }]);
  await say('/monitor resume shop');
  expect(await names()).toEqual(['Blog', 'Shop']);
  expect(textOf(cardOf(await press(asked, 'Remove')))).toContain('Shop was removed');
  expect(await names()).toEqual(['Blog']);
  expect(textOf(cardOf(await press(asked, 'Remove')))).toContain('already removed');
});

test('a refusal names who may manage monitors, in the platform’s words', async () => {
  const { say } = await start();
  const hint = 'If you manage one, try again in a channel there.';
  const community = { name: 'a server that you and Askwatch share', hint };
  const refused = await say('/monitor pause shop', { ...member, community });
  expect(textOf(cardOf(refused))).toContain(
    `Only people who can manage ${community.name} can pause monitors. Ask one of them. ${hint}`,
  );
});

test('whoever runs Askwatch chooses who may add and who may manage', async () => {
  const groups = [
    { platform: 'console' as const, channel: 'U1' },
    { platform: 'slack' as const, channel: 'U2' },
    { platform: 'console' as const, channel: 'ops' },
  ];
  const { say, names } = await start({ settings: { mayAdd: groups, mayManage: 'everyone' } });
  const add = '/monitor add nightly type=HEARTBEAT interval=60';
  const of = (id: string, groupsOf: string[] = []): Person => ({
    id,
    name: id,
    isIn: async (group) => groupsOf.includes(group),
  });
  for (const person of [of('U2'), of('U3'), of('U3', ['U2'])]) {
    expect(textOf(cardOf(await say(add, person)))).toMatch(/chosen by your Askwatch admin/);
  }
  expect(await names()).toEqual(['Blog', 'Shop']);
  for (const [at, person] of [of('U1'), of('U3', ['ops']), admin].entries()) {
    const text = textOf(cardOf(await say(add.replace('nightly', `job-${at}`), person)));
    expect(text).toContain(`Now watching job-${at}`);
  }
  expect(textOf(cardOf(await say('/monitor pause blog', of('U3'))))).toContain('Blog is paused');
});

test('a command says if the service does not offer the change', async () => {
  const { say, press, service } = await startTestBot();
  const shop = service.add({ name: 'Shop' });
  const paused = await say('/monitor pause shop', { person: admin });
  expect(textOf(cardOf(paused))).toContain('does not offer pausing monitors');
  const asked = await say('/monitor remove shop', { person: admin });
  const removed = await press(asked, 'Remove', { person: admin });
  expect(textOf(cardOf(removed))).toContain('does not offer removing monitors');
  expect(service.monitors).toEqual([shop]);
});

test('a monitor whose id is too long for a button gets none that removes it', async () => {
  const { say, service } = await startTestBot();
  service.add({ name: 'Shop', id: 'x'.repeat(100) });
  const card = cardOf(await say('/monitor remove shop', { person: admin }));
  expect(textOf(card)).toContain('too long for a confirmation button');
  expect(card.actions).toBeUndefined();
});

test('a new push address of a job is shown only to the manager who asked for it', async () => {
  const { service, say, press } = await start();
  const shown = await say('/monitor show shop', member);
  expect(textOf(cardOf(shown))).toContain('curl -fsS <push address>');
  const refused = await press(shown, 'New push address', member);
  expect(textOf(cardOf(refused))).toMatch(
    /Only people who can manage the workspace or server can create push/,
  );
  const asked = await press(shown, 'New push address');
  expect(asked).toMatchObject({ kind: 'card', private: true });
  expect(textOf(cardOf(asked))).toContain('The current address stops working at once.');
  expect(textOf(cardOf(await press(asked, 'New address', member)))).toMatch(/Only people who/);
  const made = await press(asked, 'New address');
  expect(made).toMatchObject({ kind: 'card', private: true });
  const [, url = ''] = /curl -X POST (http\S+)/.exec(textOf(cardOf(made))) ?? [];
  expect((await fetch(url, { method: 'POST' })).status).toBe(200);
  const pinged = (await service.list()).find(({ name }) => name === 'Shop');
  expect(pinged?.last_checked_at).not.toBeNull();
  await say('/monitor remove shop');
  await service.call('DELETE', `/api/v1/public/monitors/${pinged?.id}`);
  expect(textOf(cardOf(await press(asked, 'New address')))).toContain('already removed');
});

test('a heartbeat by hand makes its job alive, and only who sent it sees that', async () => {
  const service = await startService();
  const job = await service.create({ name: 'Job', check_type: 'HEARTBEAT', target: 'job' });
  const { say } = await startTestBot({ watched: service });
  const before = (await service.list())[0]?.last_checked_at;
  for (const token of [
    job.push_url ?? '',
    new URL(job.push_url ?? '').pathname.split('/').at(-1),
  ]) {
    const sent = await say(`/monitor heartbeat ${token}`);
    expect(sent).toMatchObject({ kind: 'card', private: true });
    expect(textOf(cardOf(sent))).toContain('Heartbeat sent');
  }
  expect((await service.list())[0]?.last_checked_at).not.toBe(before);
  const unknown = await say('/monitor heartbeat hb_unknown');
  expect(textOf(cardOf(unknown))).toContain('No heartbeat has this token');
});

test('what a monitor depends on is set by name, shown, and taken back', async () => {
  const { service, say } = await start();
  const parentsOf = async (name: string) =>
    (await service.list()).find((one) => one.name === name)?.depends_on;
  const blog = (await service.list()).find(({ name }) => name === 'Blog')?.id;
  const bare = await say('/monitor depends shop', member);
  expect(textOf(cardOf(bare))).toContain('Shop has no dependencies');
  expect(bare).toMatchObject({ private: true });
  const said = await say('/monitor depends shop on blog, alert:int_1/Disk full');
  expect(textOf(cardOf(said))).toContain('Shop depends on Blog, alert:int_1/Disk full');
  expect(textOf(cardOf(said))).toContain('By Grace');
  expect(await parentsOf('Shop')).toEqual([blog, 'alert:int_1/Disk full']);
  expect(textOf(cardOf(await say('/monitor show shop')))).toContain('Blog');
  const round = textOf(cardOf(await say('/monitor depends blog on shop')));
  expect(round).toContain('this would form a circle: Blog → Shop → Blog');
  const refused = textOf(cardOf(await say('/monitor depends shop on nothing', member)));
  expect(refused).toContain('change dependencies');
  expect(await parentsOf('Shop')).toHaveLength(2);
  await say('/monitor depends shop on nothing');
  expect(await parentsOf('Shop')).toBeUndefined();
  const unknown = await say('/monitor depends shop on nowhere');
  expect(textOf(cardOf(unknown))).toContain('No monitor called “nowhere”');
});
