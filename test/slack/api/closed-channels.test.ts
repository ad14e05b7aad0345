import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, USER } from '../../fakes/slack/slack.ts';
import type { Channel } from '../../fakes/slack/workspace.ts';
import { closeAndOpen } from '../../helpers/alert-story.ts';
import { eventually } from '../../helpers/eventually.ts';
import { makeSlack, runSlack, WATCHING } from '../../helpers/slack/running-slack.ts';

test.each<{
  name: string;
  kind?: Channel['kind'];
  closed: Partial<Channel>;
  open: Partial<Channel>;
}>([
  { name: 'that was archived', closed: { archived: true }, open: { archived: false } },
  { name: 'without the bot', closed: { member: false }, open: { member: true } },
  {
    name: 'without the bot, and private',
    kind: 'private',
    closed: { member: false },
    open: { member: true },
  },
])('a channel $name is told once it is open what it missed and is still on', async (given) => {
  const { fake, slack } = await makeSlack();
  const channel = fake.channel(CHANNEL);
  Object.assign(channel, { kind: given.kind ?? channel.kind });
  await closeAndOpen(slack, CHANNEL, {
    close: () => void Object.assign(channel, given.closed),
    open: () => void Object.assign(channel, given.open),
  });
  const shown = fake.messages(CHANNEL).map(shownText);
  expect(shown.map((text) => text.split('\n')[0])).toEqual([
    expect.stringContaining('🟢 Shop recovered'),
    expect.stringContaining('🔴 2 services are down'),
  ]);
  expect(shown[1]).toContain('Blog');
  expect(shown[1]).toContain('Mail');
  expect(shown[1]).not.toContain('News');
  const refused = fake.calls.filter(({ outcome }) => outcome !== 'ok');
  // One for a change and one for something new, and then one now and then.
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(5);
  expect(fake.unhandled).toEqual([]);
});

test.each<{
  event: string;
  kind: Channel['kind'];
  closed: Partial<Channel>;
  open(fake: SlackFake): void;
}>([
  {
    event: 'channel_unarchive',
    kind: 'public',
    closed: { archived: true },
    open: (fake) => fake.unarchive(CHANNEL),
  },
  {
    event: 'group_unarchive',
    kind: 'private',
    closed: { archived: true },
    open: (fake) => fake.unarchive(CHANNEL),
  },
  {
    event: 'member_joined_channel',
    kind: 'private',
    closed: { member: false },
    open: (fake) => fake.invite(CHANNEL),
  },
])('a closed channel receives the alert that waits for it with the event $event', async (given) => {
  const alertPlaces = [{ platform: 'slack' as const, channel: CHANNEL }];
  const { fake, bot } = await runSlack({ bot: { settings: { ...WATCHING, alertPlaces } } });
  Object.assign(fake.channel(CHANNEL), { kind: given.kind, ...given.closed });
  const shop = bot.service.add({ name: 'Shop' });
  const polls = bot.service.requests.length;
  await eventually(() => bot.service.requests.length > polls + 2);
  bot.service.setStatus(shop.id, 'DOWN');
  await eventually(() =>
    bot.lines.some(({ msg }) => /^a channel refuses alerts/.test(String(msg))),
  );
  // An invitation of another person says nothing about the bot.
  fake.invite(CHANNEL, USER);
  given.open(fake);
  const alert = await eventually(() => fake.messages(CHANNEL)[0]);
  expect(shownText(alert)).toContain('Shop');
  expect(fake.calls.filter(({ method }) => method === 'chat.postMessage')).toHaveLength(2);
});
