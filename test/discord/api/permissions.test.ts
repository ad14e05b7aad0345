import type { PermissionFlagsBits } from 'discord.js';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

async function start() {
  const discord = await startDiscord();
  const running = await startTestBot();
  const started = await startPlatform(discord, running.bot);
  /** discord.js knows the missing permission once this channel change arrives. */
  async function deny(...names: Array<keyof typeof PermissionFlagsBits>) {
    discord.deny(discord.general, ...names);
    const asked = discord.slash('askwatch help');
    await eventually(() => asked.acknowledged);
  }
  return { discord, deny, ...running, ...started };
}

const CARD = { tone: 'bad' as const, title: 'Shop is down', parts: [] };

test.each([
  [['SendMessages'], 'Send Messages'],
  [['EmbedLinks'], 'Embed Links'],
  [['ViewChannel'], 'View Channel'],
  [['EmbedLinks', 'ReadMessageHistory'], 'Embed Links, Read Message History'],
] as const)(
  'an alert that is refused for %j says what to give it, and where',
  async (names, said) => {
    const { discord, deny, platform } = await start();
    await deny(...names);
    const post = { channel: discord.general.id, card: CARD, id: 'a', attempted: false };
    const failed = platform.post(post);
    await expect(failed).rejects.toMatchObject({ permanent: true });
    await expect(failed).rejects.toThrow(
      `Askwatch lacks the permission ${said} in #general. Grant it under Edit Channel, Permissions, Askwatch’s role.`,
    );
  },
);

test('what a channel allows the bot counts over what it denies everyone', async () => {
  const { discord, deny, platform } = await start();
  await deny('SendMessages', 'EmbedLinks');
  discord.allow(discord.general, 'SendMessages');
  const post = { channel: discord.general.id, card: CARD, id: 'a', attempted: false };
  await expect(platform.post(post)).rejects.toThrow('lacks the permission Embed Links in #general');
  discord.allow(discord.general, 'EmbedLinks');
  await platform.post(post);
  // The answer to the command that `deny` types may be there, too.
  const titles = discord.channel(discord.general.id).map(({ embeds }) => embeds[0]?.title);
  expect(titles.filter((title) => title === CARD.title)).toHaveLength(1);
});

test('a mention where no cards may be shown is told which permission is missing', async () => {
  const { discord, deny } = await start();
  await deny('EmbedLinks');
  const said = discord.say('', { mention: true });
  const told = await eventually(() =>
    discord
      .channel(discord.general.id)
      .find(({ message_reference }) => message_reference?.message_id === said.id),
  );
  expect(told.content).toMatch(
    /^Askwatch couldn’t post its reply\. Askwatch lacks the permission Embed Links in #general/,
  );
});

test('a mention is answered without Read Message History', async () => {
  const { discord, deny } = await start();
  await deny('ReadMessageHistory', 'CreatePublicThreads');
  discord.say('Why?', { mention: true });
  const answer = await eventually(() =>
    discord.channel(discord.general.id).find(({ content }) => content.includes('-# test-model')),
  );
  expect(answer.message_reference).toBeUndefined();
  discord.press(answer, 'Regenerate');
  await eventually(
    () =>
      discord.channel(discord.general.id).filter(({ content }) => content.includes('-# test-model'))
        .length === 2,
  );
});
