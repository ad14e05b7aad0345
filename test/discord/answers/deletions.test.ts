import { MessageFlags } from 'discord.js';
import { describe, expect, test } from 'vitest';
import { deletedBy } from '../../../src/discord/answers/deletions.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { filesWith, folderOfFiles } from '../../helpers/test-store.ts';

/** Longer than anything is waited for: no answer ends by itself. */
const PATIENT = { settings: { askStallMs: 600_000 } };

/** A question whose answer has begun and then sends nothing, so that no edit can fail. */
async function startStuckAnswer() {
  const discord = await startDiscord();
  const test = await startTestBot(PATIENT);
  const { provider, bot } = test;
  const started = await startPlatform(discord, bot);
  provider.answerWith(['Because ', 'of the sky.']);
  const release = provider.holdChunks(1);
  const channel = discord.addChannel({ name: 'other' });
  discord.gateway.dispatch('CHANNEL_CREATE', channel);
  const question = discord.say('Why?', { channel, mention: true });
  const answer = await eventually(() => discord.channel(question.id)[0]);
  await eventually(() => answer.content.includes('Because'));
  const place = { platform: 'discord' as const, channel: channel.id };
  return {
    ...{ discord, channel, question, answer, release, place, ...test, ...started },
    botLines: test.lines,
    /** The call to the model ends. */
    ended: () => eventually(() => provider.calls[0]?.aborted),
    /** Warnings and errors in the log. */
    noise: () => started.lines.filter(({ level }) => Number(level) >= 40),
  };
}

/** The bot's regular messages. */
const saidIn = (messages: FakeMessage[]) => messages.filter(({ author }) => author.bot);

describe('an answer of which nothing new comes ends at once', () => {
  test('a stuck answer ends when its message is deleted', async () => {
    const { discord, channel, answer, ended, noise, question } = await startStuckAnswer();
    discord.remove(answer.id);
    await ended();
    // Later messages of the bot would come before this.
    const next = discord.say('And now?', { channel, mention: true });
    await eventually(() => discord.channel(next.id).length > 0);
    expect(saidIn(discord.channel(channel.id))).toEqual([]);
    expect(saidIn(discord.channel(question.id))).toEqual([]);
    expect(noise()).toEqual([]);
  });

  test('a stuck answer ends when its thread is deleted, and is forgotten', async () => {
    const { discord, channel, question, place, bot, ended, noise } = await startStuckAnswer();
    expect(await bot.isConversation(place, question.id)).toBe(true);
    discord.remove(question.id);
    await ended();
    await eventually(async () => !(await bot.isConversation(place, question.id)));
    expect(saidIn(discord.channel(channel.id))).toEqual([]);
    expect(noise()).toEqual([]);
  });

  test('a stuck answer ends when its channel is deleted, and all data goes', async () => {
    const { discord, channel, question, place, bot, service, platform, ...rest } =
      await startStuckAnswer();
    const person = { id: '1', name: 'Grace', mayManage: async () => true };
    const say = (line: string) =>
      bot.dispatch({ id: `discord:${crypto.randomUUID()}`, request: { line }, place, person });
    await say('/monitor alerts on');
    await say('/askwatch model test-vision');
    discord.remove(channel.id);
    await rest.ended();
    await eventually(async () => !(await bot.isConversation(place, question.id)));
    await eventually(async () =>
      JSON.stringify(await say('/askwatch model')).includes('test-model answers here'),
    );
    // The alerts are deleted last.
    await eventually(() =>
      rest.botLines.some(({ msg }) => /received alerts is gone/.test(String(msg))),
    );
    expect(rest.fatal).toEqual([]);
  });
});

test('a private answer ends with its channel', async () => {
  const { discord, provider, fatal } = await runDiscord({ bot: PATIENT });
  provider.answerWith(['Because ', 'of the sky.']);
  provider.holdChunks(1);
  const channel = discord.addChannel();
  const asked = discord.slash('ask', { question: 'Why?', private: true }, { channel });
  await eventually(() => asked.reply?.content.includes('Because'));
  expect((asked.reply?.flags ?? 0) & MessageFlags.Ephemeral).toBe(MessageFlags.Ephemeral);
  discord.remove(channel.id);
  await eventually(() => provider.calls[0]?.aborted);
  expect(fatal).toEqual([]);
});

test('a server that takes Askwatch out is in no file any more, and one that is unavailable is', async () => {
  const folder = await folderOfFiles();
  const { discord, bot, provider, say, fatal } = await runDiscord({ bot: { folder } });
  provider.answerWith('Because of the sky.');
  const channel = discord.addChannel({ name: 'other' });
  discord.gateway.dispatch('CHANNEL_CREATE', channel);
  const place = { platform: 'discord' as const, channel: channel.id };
  const person = { id: '1', name: 'Grace', mayManage: async () => true };
  for (const prompt of ['one', 'two']) {
    await say(`/askwatch prompt ${prompt} of s3rver`, { place, person });
  }
  await say('/monitor alerts on', { place, person });
  const question = discord.say('Why s3rver?', { channel, mention: true });
  await eventually(() => discord.channel(question.id)[0]?.content.includes('-# test-model'));
  await eventually(async () => (await filesWith('s3rver', folder)).length >= 3);

  discord.gateway.dispatch('GUILD_DELETE', { id: discord.guildId, unavailable: true });
  // Events arrive in order.
  discord.remove(discord.addChannel().id);
  discord.gateway.dispatch('GUILD_DELETE', { id: '1234567890' });
  expect((await filesWith(channel.id, folder)).length).toBeGreaterThan(3);
  expect(await say('/askwatch prompt', { place })).toMatchObject({ kind: 'card' });
  expect(await bot.isConversation(place, question.id)).toBe(true);

  discord.gateway.setAvailable(true);
  discord.gateway.dispatch('GUILD_DELETE', { id: discord.guildId });
  await eventually(async () => (await filesWith('s3rver', folder)).length === 0);
  await eventually(async () => (await filesWith(channel.id, folder)).length === 0);
  expect(fatal).toEqual([]);
});

/** An Askwatch that said something in four channels; what becomes of them is up to the test, before it starts again. */
async function startThatLived() {
  const folder = await temporaryFolder();
  const { discord, provider, stop, platform } = await runDiscord({ bot: { folder } });
  provider.answerWith('Because of the sky.');
  const direct = discord.directChannel(discord.alice);
  const [seen, hidden, deleted] = ['seen', 'hidden', 'deleted'].map((name) => {
    const channel = discord.addChannel({ name });
    discord.gateway.dispatch('CHANNEL_CREATE', channel);
    return channel;
  });
  if (!seen || !hidden || !deleted) throw new Error('There are no channels.');
  for (const channel of [seen, hidden, deleted, direct]) {
    const question = discord.say('Why?', { channel, mention: true });
    const thread = channel === direct ? direct.id : question.id;
    await eventually(() => discord.channel(thread).at(-1)?.content.includes('-# test-model'));
    await eventually(async () => (await filesWith(channel.id, folder)).length > 0);
  }
  await platform.stop();
  await stop();
  const keeps = async (channel: { id: string }) => (await filesWith(channel.id, folder)).length > 0;
  return { discord, folder, keeps, channels: { seen, hidden, deleted, direct } };
}

test('what was deleted while Askwatch was off is forgotten at the start, not what it may not see', async () => {
  const { discord, folder, keeps, channels } = await startThatLived();
  const { seen, hidden, deleted, direct } = channels;
  discord.remove(deleted.id);
  discord.deny(hidden, 'ViewChannel');
  const asked = () => discord.requests.filter(({ path }) => path === `/channels/${deleted.id}`);
  const { botLines: lines } = await runDiscord({ discord, bot: { folder } });
  await eventually(async () => !(await keeps(deleted)));
  for (const channel of [seen, hidden, direct]) expect(await keeps(channel)).toBe(true);
  expect(asked()).toHaveLength(1);
  const unasked = discord.requests.filter(({ path }) => path === `/channels/${hidden.id}`);
  expect(unasked).toEqual([]);
  expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test('a server that took Askwatch out while it was off is forgotten at the start', async () => {
  const { discord, folder, keeps, channels } = await startThatLived();
  const { seen, hidden, deleted, direct } = channels;
  discord.removeBot();
  await runDiscord({ discord, bot: { folder }, everywhere: true });
  for (const channel of [seen, hidden, deleted])
    await eventually(async () => !(await keeps(channel)));
  expect(await keeps(direct)).toBe(true);
});

test('what cannot be forgotten at a start is said in the log, and left to the next', async () => {
  const { discord, folder, keeps, channels } = await startThatLived();
  discord.remove(channels.deleted.id);
  const { bot } = await startTestBot({ folder });
  const full = { ...bot, forgetAll: () => Promise.reject(new Error('disk full')) };
  const { lines } = await startPlatform(discord, full);
  const told = () =>
    lines.find(({ msg }) => /could not delete .*; retrying at the next/.test(String(msg)));
  expect(await eventually(told)).toMatchObject({ err: { message: 'disk full' } });
  expect(await keeps(channels.deleted)).toBe(true);
});

test('nothing is forgotten at a start while a server is down', async () => {
  const { discord, folder, keeps, channels } = await startThatLived();
  discord.deny(channels.hidden, 'ViewChannel');
  discord.gateway.guildUnavailable = true;
  await runDiscord({ discord, bot: { folder }, everywhere: true });
  // An answer takes longer than to ask for four channels.
  const { direct } = channels;
  discord.say('And now?', { channel: direct, mention: true });
  await eventually(() => discord.channel(direct.id).length === 4);
  await eventually(() => discord.channel(direct.id)[3]?.content.includes('-# test-model'));
  for (const channel of Object.values(channels)) expect(await keeps(channel)).toBe(true);
});

test('other deletions end nothing', async () => {
  const { discord, channel, answer, release, noise } = await startStuckAnswer();
  discord.remove(discord.say('Never mind', { channel }).id);
  discord.remove(discord.addChannel().id);
  release();
  await eventually(() => answer.content.includes('of the sky.'));
  await eventually(() => answer.content.includes('-# test-model'));
  expect(noise()).toEqual([]);
});

test('is read from what Discord sends, and from nothing else', () => {
  const none = () => [];
  expect(deletedBy({ t: 'MESSAGE_DELETE', d: { id: '1', channel_id: '2' } }, none)).toEqual({
    ids: ['1'],
  });
  expect(deletedBy({ t: 'MESSAGE_DELETE_BULK', d: { ids: ['1', '2'] } }, none)?.ids).toEqual([
    '1',
    '2',
  ]);
  expect(deletedBy({ t: 'THREAD_DELETE', d: { id: '1', parent_id: '2' } }, none)?.forget).toEqual({
    place: { platform: 'discord', channel: '2' },
    thread: '1',
  });
  for (const packet of [{}, { t: 'MESSAGE_DELETE' }, { t: 'MESSAGE_CREATE', d: { id: '1' } }]) {
    expect(deletedBy(packet, none)).toBeUndefined();
  }
  expect(deletedBy({ t: 'MESSAGE_DELETE_BULK', d: { id: '1' } }, none)).toBeUndefined();
});

test('an answer in the open channel to a question that was deleted is shown all the same', async () => {
  const discord = await startDiscord();
  discord.deny(discord.general, 'CreatePublicThreads');
  const { provider, lines } = await runDiscord({ discord, bot: PATIENT });
  const release = provider.holdChunks();
  const question = discord.say('Why?', { mention: true });
  await eventually(() => provider.calls.length === 1);
  discord.remove(question.id);
  release();
  await eventually(() =>
    discord.channel(discord.general.id).some(({ content }) => content.includes('-# test-model')),
  );
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
