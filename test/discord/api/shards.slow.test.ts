import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { PlatformStartError } from '../../../src/bot/shared/errors.ts';
import { buildClient, connect } from '../../../src/discord/api/client.ts';
import { checkShards } from '../../../src/discord/api/shards.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { buildPlatform, startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

/** discord.js comes back half a second after a dropped connection. */
const BACK_MS = 2_000;

/** A Discord with a server on each of three shards, which may all identify at once. */
async function startThree() {
  const discord = await startDiscord();
  Object.assign(discord.gateway, { recommendedShards: 3, maxConcurrency: 3 });
  const channels = [0, 1, 2].map((shard) => discord.addServer(shard, 3));
  return { discord, channels };
}

async function startServing() {
  const { discord, channels } = await startThree();
  const test = await startTestBot();
  const started = await startPlatform(discord, test.bot, { everywhere: true });
  /** The whole answer under a message, or in a direct conversation. */
  const answered = (id: string) =>
    eventually(() => discord.channel(id).find(({ content }) => content.includes('-# test-model')));
  return { discord, channels, answered, ...test, ...started };
}

describe('three shards', () => {
  test('serve the servers of each, and direct conversations', async () => {
    const { discord, channels, answered, fatal } = await startServing();
    expect(discord.gateway.shards()).toEqual([0, 1, 2]);
    expect(discord.gateway.counts()).toEqual({ identified: 3, resumed: 0 });
    for (const channel of channels) {
      await answered(discord.say('Why?', { channel, mention: true }).id);
      const asked = discord.slash('ask', { question: 'Why?' }, { channel });
      await answered(await eventually(() => asked.reply?.content && asked.reply.id));
    }
    const direct = discord.directChannel(discord.alice);
    discord.say('Why?', { channel: direct });
    await answered(direct.id);
    expect(fatal).toEqual([]);
  });

  test('serve on while one is lost, which resumes and answers what it missed', async () => {
    const { discord, channels, answered, provider, fatal, lines } = await startServing();
    const [first, lost, last] = channels;
    if (!first || !lost || !last) throw new Error('there are three');
    discord.gateway.cutShards.add(1);
    discord.gateway.dropShard(1);
    await eventually(() => !discord.gateway.shards().includes(1));
    const missed = discord.say('And here?', { channel: lost, mention: true });
    await answered(discord.say('Why?', { channel: first, mention: true }).id);
    await answered(discord.say('Why?', { channel: last, mention: true }).id);
    expect(provider.calls).toHaveLength(2);
    expect(discord.gateway.shards()).toEqual([0, 2]);
    discord.gateway.cutShards.clear();
    await answered(missed.id);
    expect(discord.gateway.counts()).toEqual({ identified: 3, resumed: 1 });
    expect(provider.calls).toHaveLength(3);
    expect(lines.filter(({ msg }) => msg === 'reconnected to Discord')).toMatchObject([
      { shard: 1 },
    ]);
    expect(fatal).toEqual([]);
  });

  test('are all left, also those on their way back', async () => {
    const { discord, platform } = await startServing();
    discord.gateway.dropShard(0);
    discord.gateway.dropShard(2);
    await eventually(() => discord.gateway.shards().length < 3);
    await platform.stop();
    await eventually(() => discord.gateway.connected() === 0);
    // One that was on its way back would be there by now.
    await pause(BACK_MS);
    expect(discord.gateway.connected()).toBe(0);
  });

  test('three shards end the program if one is refused permanently', async () => {
    const { discord, fatal } = await startServing();
    discord.gateway.dropShard(1, 4004);
    await eventually(() => fatal.length > 0);
    expect(fatal).toMatchObject([{ message: expect.stringMatching(/DISCORD_TOKEN/) }]);
  });
});

describe('the start', () => {
  test('makes as many connections as are set, whatever Discord recommends', async () => {
    const { discord } = await startThree();
    discord.gateway.maxConcurrency = 2;
    await runDiscord({ discord, shards: 2 });
    expect(discord.gateway.shards()).toEqual([0, 1]);
  });

  test('says what to set when there are too few', async () => {
    const { discord } = await startThree();
    discord.gateway.leastShards = 3;
    const { bot } = await startTestBot();
    const { platform } = await buildPlatform(discord, { shards: 1 });
    const start = platform.start(bot);
    await expect(start).rejects.toThrow(PlatformStartError);
    await expect(start).rejects.toThrow(/DISCORD_SHARDS/);
  });

  test('says that no more connections may be made today', async () => {
    const { discord } = await startThree();
    discord.gateway.sessionsRemaining = 2;
    const { bot } = await startTestBot();
    const { platform } = await buildPlatform(discord);
    await expect(platform.start(bot)).rejects.toThrow(
      /no more connections today.*3 shards.*only 2/,
    );
    expect(discord.gateway.counts().identified).toBe(0);
  });

  test('waits for all, and says how many came; those that came late do not stay', async () => {
    const { discord } = await startThree();
    discord.gateway.cutShards.add(1);
    const client = buildClient({ apiUrl: discord.api, messageContent: false, isHeld: () => true });
    await expect(connect(client, discord.settings.token, discord.api, 1_000)).rejects.toThrow(
      /^Only 2 of 3 connections to Discord came up within 1 s/,
    );
    discord.gateway.cutShards.clear();
    await eventually(() => discord.gateway.counts().identified === 3);
    await eventually(() => discord.gateway.connected() === 0);
  });

  // discord.js lets five seconds and more pass between two.
});

test('the fake takes no two of a key within five seconds', async () => {
  const discord = await startDiscord();
  const said = await Promise.all([0, 1].map((id) => identify(discord, [id, 2])));
  expect(said.sort()).toEqual(['invalid session', 'ready']);
  expect(discord.gateway.hasty()).toBe(1);
  expect(await identify(discord, [2, 2])).toBe('closed with 4010');
});

/** Identifies without discord.js. */
async function identify(discord: DiscordFake, shard: [number, number]): Promise<string> {
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(discord.api.replace('http', 'ws').replace('/api', '/gateway'));
  return await new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', (code) => resolve(`closed with ${code}`));
    socket.on('message', (data) => {
      const { op, t } = JSON.parse(String(data)) as { op: number; t: string | null };
      const d = { token: discord.settings.token, intents: 1, shard };
      if (op === 10) socket.send(JSON.stringify({ op: 2, d }));
      if (t === 'READY') resolve('ready');
      if (op === 9) resolve('invalid session');
    });
  });
}

test('the doctor compares what is set with what Discord recommends', () => {
  const told = (shards: number, remaining = 900) => ({
    url: 'wss://gateway.example',
    shards,
    session_start_limit: { total: 1_000, remaining, reset_after: 7_200_000, max_concurrency: 1 },
  });
  expect(checkShards('auto', told(1))).toMatchObject({ level: 'ok', text: 'connects once' });
  expect(checkShards('auto', told(4))).toMatchObject({ level: 'ok', text: 'connects 4 times' });
  expect(checkShards(5, told(4))).toMatchObject({ level: 'ok' });
  expect(checkShards(3, told(4))).toMatchObject({
    level: 'warning',
    text: expect.stringContaining('set it to 4'),
  });
  expect(checkShards('auto', told(4, 3))).toMatchObject({
    level: 'problem',
    text: expect.stringContaining('Wait 2 h'),
  });
});
