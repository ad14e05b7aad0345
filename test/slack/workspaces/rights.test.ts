import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import type { RightOver } from '../../../src/bot/shared/place.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import type { Profile } from '../../fakes/slack/workspace.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

/** The platform in front of a bot that records invocations. */
async function startListening(fake?: SlackFake) {
  const running = await makeSlack(fake ? { fake } : {});
  const { bot: real } = await startTestBot();
  const heard: Invocation[] = [];
  const bot: Bot = {
    ...real,
    dispatch(invocation) {
      heard.push(invocation);
      return real.dispatch(invocation);
    },
  };
  await running.slack.start(bot);
  const asked = () => running.fake.calls.filter(({ method }) => method === 'users.info').length;
  const seen = new Set<string>();
  /** The invocation that comes of a gesture; of a mention come two, with one id. */
  async function hear(gesture: () => unknown): Promise<Invocation> {
    gesture();
    const invocation = await eventually(() => heard.find(({ id }) => !seen.has(id)));
    seen.add(invocation.id);
    return invocation;
  }
  const mayManage = async (gesture: () => unknown, over: RightOver = 'shared') =>
    await (await hear(gesture)).person.mayManage?.(over);
  return { ...running, asked, hear, mayManage };
}

test.each<[Profile, boolean]>([
  [{}, false],
  [{ is_admin: true }, true],
  [{ is_owner: true }, true],
  [{ is_primary_owner: true }, true],
  [{ is_admin: true, deleted: true }, false],
  [{ is_admin: true, team_id: 'T00STRANGER' }, false],
  [{ is_admin: true, team_id: 'T00OTHER', enterprise_user: { teams: ['T00FAKE'] } }, true],
])('whoever is %j may manage: %s', async (profile, may) => {
  const { fake, mayManage } = await startListening();
  fake.profiles.set('U00ADA', profile);
  expect(await mayManage(() => fake.slash('/askwatch', 'help'))).toBe(may);
});

test('every way to say something tells who may manage, and Slack is asked only when that is', async () => {
  const { fake, asked, hear, mayManage } = await startListening();
  fake.profiles.set('U00GRACE', { is_admin: true });
  let presses = 0;
  const gestures = [
    (user: string) => fake.slash('/askwatch', 'help', { user }),
    (user: string) => fake.mention('/askwatch help', { user }),
    (user: string) =>
      fake.interact({
        type: 'block_actions',
        user: { id: user, name: user },
        channel: { id: CHANNEL },
        container: { message_ts: '1.000001' },
        actions: [{ type: 'button', action_ts: `${++presses}.1`, value: 'askwatch help?' }],
      }),
  ];
  for (const gesture of gestures) {
    const before = asked();
    expect(await mayManage(() => gesture('U00GRACE'))).toBe(true);
    expect(await mayManage(() => gesture('U00ADA'))).toBe(false);
    expect(asked()).toBe(before + 2);
  }
  const before = asked();
  await hear(() => fake.slash('/askwatch', 'help'));
  expect(asked()).toBe(before);
});

test('who is in a user group is asked at most once a minute for all', async () => {
  const { fake, hear } = await startListening();
  fake.scopes.add('usergroups:read');
  fake.groups.set('S00OPS', ['U00GRACE']);
  const inGroup = async (user: string, group: string) => {
    const { person } = await hear(() => fake.slash('/askwatch', 'help', { user }));
    return await person.isIn?.(group);
  };
  expect(await inGroup('U00GRACE', 'S00OPS')).toBe(true);
  expect(await inGroup('U00ADA', 'S00OPS')).toBe(false);
  expect(fake.calls.filter(({ method }) => method === 'usergroups.users.list')).toHaveLength(1);
  expect(await inGroup('U00GRACE', 'S00GONE')).toBe(false);
  // A person isn't a group.
  expect(await inGroup('U00GRACE', 'U00ADA')).toBe(false);
  expect(fake.calls.filter(({ method }) => method === 'usergroups.users.list')).toHaveLength(2);
});

test('nobody is in a group without the scope, and the log says so once', async () => {
  const { fake, hear, lines } = await startListening();
  fake.groups.set('S00OPS', ['U00ADA']);
  for (let time = 0; time < 2; time += 1) {
    const { person } = await hear(() => fake.slash('/askwatch', 'help'));
    expect(await person.isIn?.('S00OPS')).toBe(false);
  }
  const warnings = lines.filter(({ level }) => Number(level) >= 40);
  expect(warnings.map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/usergroups:read.*OAuth & Permissions/),
  ]);
});

test('a direct conversation is everybody’s own, and what is shared is asked for all the same', async () => {
  const { fake, asked, mayManage } = await startListening();
  fake.addChannel({ id: 'D00ADA' });
  const say = () => fake.say('/askwatch help', { channel: 'D00ADA' });
  expect(await mayManage(say, 'place')).toBe(true);
  expect(asked()).toBe(0);
  expect(await mayManage(say, 'shared')).toBe(false);
  fake.profiles.set('U00ADA', { is_admin: true });
  expect(await mayManage(say, 'shared')).toBe(true);
  expect(asked()).toBe(2);
});
test('nobody has a right that Slack can’t confirm, and the log says why', async () => {
  const { fake, mayManage, lines } = await startListening();
  fake.profiles.set('U00ADA', { is_owner: true });
  fake.fail('users.info', { kind: 'status', status: 503 });
  expect(await mayManage(() => fake.slash('/askwatch', 'help'))).toBe(false);
  expect(lines).toContainEqual(expect.objectContaining({ level: 40, reason: 'http_503' }));
  expect(await mayManage(() => fake.slash('/askwatch', 'help'))).toBe(true);
});
