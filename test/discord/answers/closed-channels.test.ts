import { ChannelType } from 'discord.js';
import { expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel } from '../../fakes/discord/state.ts';
import { closeAndOpen } from '../../helpers/alert-story.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';

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
  const discord = await startDiscord({ limit: false });
  const { bot } = await startTestBot();
  const { platform } = await startPlatform(discord, bot);
  const channel = given.channelOf?.(discord) ?? discord.general;
  const before = discord.requests.length;
  await closeAndOpen(platform, channel.id, {
    close: () => given.close(discord, channel),
    open: () => given.open(discord, channel),
  });
  const shown = discord.channel(channel.id).map(({ embeds }) => embeds[0]);
  expect(shown.map((embed) => embed?.title)).toEqual([
    expect.stringContaining('Shop recovered'),
    expect.stringContaining('2 monitors are DOWN'),
  ]);
  const told = JSON.stringify(shown[1]);
  expect(told).toContain('Blog');
  expect(told).toContain('Mail');
  expect(told).not.toContain('News');
  const wrote = discord.requests.slice(before).filter(({ path }) => /messages/.test(path));
  // Three that went through, one for a change and one for something new, and then one now and then.
  expect(wrote.length).toBeLessThanOrEqual(8);
});
