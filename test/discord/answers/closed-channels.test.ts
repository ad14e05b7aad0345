import { ChannelType } from 'discord.js';
import { expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel } from '../../fakes/discord/state.ts';
import { closeAndOpen } from '../../helpers/alert-story.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

const threadIn = (discord: DiscordFake): FakeChannel =>
  discord.addChannel({
    type: ChannelType.PublicThread,
    parent_id: discord.general.id,
    name: 'alerts',
    thread_metadata: { archived: false, locked: false, auto_archive_duration: 60 },
  });

const lock = (thread: FakeChannel, archived: boolean) => {
  thread.thread_metadata = { archived, locked: archived, auto_archive_duration: 60 };
};

interface Closing {
  name: string;
  channelOf?: (discord: DiscordFake) => FakeChannel;
  close(discord: DiscordFake, channel: FakeChannel): void;
  open(discord: DiscordFake, channel: FakeChannel): void;
}

test.each<Closing>([
  {
    name: 'that Askwatch may not see',
    close: (discord, channel) => discord.deny(channel, 'ViewChannel'),
    open: (discord, channel) => discord.deny(channel),
  },
  {
    name: 'in which Askwatch may not write',
    close: (discord, channel) => discord.deny(channel, 'SendMessages'),
    open: (discord, channel) => discord.deny(channel),
  },
  {
    name: 'which is a locked thread',
    channelOf: threadIn,
    close: (_discord, thread) => lock(thread, true),
    open: (_discord, thread) => lock(thread, false),
  },
])('a channel $name is told once it is open what it missed and is still on', async (given) => {
  const { discord, platform } = await runDiscord({ fake: { limit: false } });
  const channel = given.channelOf?.(discord) ?? discord.general;
  const before = discord.requests.length;
  await closeAndOpen(platform, channel.id, {
    close: () => given.close(discord, channel),
    open: () => given.open(discord, channel),
  });
  const shown = discord.channel(channel.id).map(({ embeds }) => embeds[0]);
  expect(shown.map((embed) => embed?.title)).toEqual([
    expect.stringContaining('Shop recovered'),
    expect.stringContaining('2 services are down'),
  ]);
  const told = JSON.stringify(shown[1]);
  expect(told).toContain('Blog');
  expect(told).toContain('Mail');
  expect(told).not.toContain('News');
  const wrote = discord.requests.slice(before).filter(({ path }) => /messages/.test(path));
  // Three that went through, one for a change and one for something new, and then one now and then.
  expect(wrote.length).toBeLessThanOrEqual(8);
});

test.each<Closing & { event: string }>([
  {
    event: 'CHANNEL_UPDATE',
    name: 'the channel',
    close: (discord, channel) => discord.deny(channel, 'ViewChannel'),
    open: (discord, channel) => discord.deny(channel),
  },
  {
    event: 'GUILD_MEMBER_UPDATE',
    name: 'Askwatch',
    close(discord, channel) {
      const role = discord.grant(discord.bot);
      discord.denyRole(channel, role, 'SendMessages');
    },
    open: (discord) => discord.takeRoles(discord.bot),
  },
  {
    event: 'THREAD_UPDATE',
    name: 'the thread',
    channelOf: (discord) => {
      const thread = threadIn(discord);
      // discord.js doesn't know such threads, since their events have no server.
      lock(thread, true);
      return thread;
    },
    close: () => {},
    open: (discord, thread) => discord.unlock(thread),
  },
])(
  'a closed channel receives the alert that waits for it with the event $event of $name',
  async (given) => {
    const discord = await startDiscord();
    const channel = given.channelOf?.(discord) ?? discord.general;
    const alertPlaces = [{ platform: 'discord' as const, channel: channel.id }];
    const {
      bot,
      service,
      botLines: lines,
      platform,
    } = await runDiscord({ discord, bot: { settings: { alertPlaces } } });
    await bot.start([platform]);
    const shop = service.add({ name: 'Shop' });
    const polls = service.requests.length;
    await eventually(() => service.requests.length > polls + 2);
    given.close(discord, channel);
    service.setStatus(shop.id, 'DOWN');
    await eventually(() => lines.some(({ msg }) => /^a channel refuses alerts/.test(String(msg))));
    given.open(discord, channel);
    const alert = await eventually(() => discord.channel(channel.id)[0]);
    expect(alert.embeds[0]?.title).toContain('Shop');
  },
);
