import { describe, expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import type { DiscordOptions } from '../../../src/discord/discord.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startReplicas } from '../../helpers/discord/replicas.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';

/** A Discord, and processes that are its bot together; each says its name to whoever asks it something. */
async function begin() {
  const discord = await startDiscord();
  discord.gateway.isStrict = true;
  const { bot: real } = await startTestBot();
  const replicas = await startReplicas(discord);
  const heard: Array<{ by: string; invocation: Invocation }> = [];
  return {
    discord,
    ...replicas,
    heard,
    start: (name: string, options: Partial<DiscordOptions> = {}, own: Partial<Bot> = {}) =>
      replicas.start(
        name,
        () => ({
          ...real,
          async dispatch(invocation) {
            heard.push({ by: name, invocation });
            return { kind: 'card', card: { tone: 'info', title: name, parts: [] }, private: false };
          },
          ...own,
        }),
        options,
      ),
    /**
     * Until it is kept that a session has come so far. Whoever goes on is not told of servers again then: READY is the first event,
     * after it comes one a server.
     */
    isKept: (sequence: number) =>
      eventually(async () => {
        const of = "from #.document where collection = 'discord-sessions'";
        const [row] = await replicas.database.query(`select body::text as kept ${of}`);
        return Number(/"sequence": ?(\d+)/.exec(String(row?.kept))?.[1]) >= sequence;
      }),
    /** Who answers a mention in a channel. */
    async asked(channel = discord.general) {
      const { id } = discord.say('Who?', { channel, mention: true });
      return await eventually(
        () => heard.find(({ invocation }) => invocation.id === `discord:${id}`)?.by,
      );
    },
  };
}

describe.skipIf(!hasPostgres)('one shard of two processes', () => {
  test('is held by one; the other goes on with its session when that one dies, and hears what came meanwhile', async () => {
    const { discord, start, kill, asked, heard } = await begin();
    await start('a');
    await start('b');
    expect(discord.gateway.holders()).toEqual(['0:a']);
    expect(await asked()).toBe('a');
    await kill('a');
    const missed = discord.say('And now?', { mention: true });
    await eventually(() => heard.some(({ invocation: { id } }) => id === `discord:${missed.id}`));
    expect(discord.gateway.holders()).toEqual(['0:b']);
    expect(discord.gateway.counts()).toEqual({ identified: 1, resumed: 1 });
    expect(await asked()).toBe('b');
    expect(discord.gateway.doubledMs()).toBe(0);
  });

  test('is known to the one that goes on as to the one that began', async () => {
    const { discord, start, kill, heard, isKept } = await begin();
    const quiet = discord.addChannel({ name: 'quiet' });
    discord.deny(quiet, 'SendMessages');
    await start('a');
    const { platform, lines } = await start('b');
    await isKept(2);
    await kill('a');
    await eventually(() => discord.gateway.holders().includes('0:b'));
    const bob = discord.addUser('bob');
    const role = discord.grant(bob, 'ManageGuild');
    const thread = discord.openThread(discord.say('Hello'));
    const gestures = [
      () => discord.slash('askwatch help', {}, { user: bob }),
      () => discord.say('Hello', { user: bob, mention: true }),
      () => discord.say('Hello', { user: bob, mention: true, channel: thread }),
      () => discord.say('Hello', { user: bob, channel: discord.directChannel(bob) }),
    ];
    for (const gesture of gestures) {
      const before = heard.length;
      gesture();
      const { invocation } = await eventually(() => heard[before]);
      const { place, person } = invocation;
      expect([await person.mayManage?.('shared'), await person.isIn?.(role)]).toEqual([true, true]);
      expect(place.channel).not.toBe(thread.id);
    }
    expect(platform.channelName?.(discord.general.id)).toBe('general');
    const card = { tone: 'info' as const, title: 'x', parts: [] };
    const post = { channel: quiet.id, card, id: 'a', attempted: false };
    await expect(platform.post(post)).rejects.toThrow(
      /lacks the permission Send Messages in #quiet/,
    );
    expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  test('begins anew where its session is over', async () => {
    const { discord, start, kill, asked } = await begin();
    await start('a');
    await start('b');
    discord.gateway.forgetSessions();
    await kill('a');
    expect(await eventually(() => discord.gateway.holders().includes('0:b'))).toBe(true);
    expect(discord.gateway.counts()).toEqual({ identified: 2, resumed: 0 });
    expect(await asked()).toBe('b');
    expect(discord.gateway.hasty()).toBe(0);
  });

  test('is left by one that is thought dead, at once, and by one that stops', async () => {
    const { discord, start, freeze, thaw, asked } = await begin();
    const a = await start('a');
    const b = await start('b');
    await freeze('a');
    await eventually(() => discord.gateway.holders().join() === '0:b');
    expect(await asked()).toBe('b');
    await thaw('a');
    await b.platform.stop();
    await eventually(() => discord.gateway.holders().join() === '0:a');
    expect(await asked()).toBe('a');
    expect(discord.gateway.counts()).toEqual({ identified: 1, resumed: 2 });
    expect([a.fatal, b.fatal]).toEqual([[], []]);
  });

  test('is not come back to by one that has lost it in the middle of a reconnect', async () => {
    const { discord, start, freeze } = await begin();
    const { lines } = await start('a');
    await start('b');
    discord.gateway.drop();
    await eventually(() => lines.some(({ msg }) => msg === 'reconnecting to Discord'));
    await freeze('a');
    await eventually(() => discord.gateway.holders().join() === '0:b');
    // The half second after which it would be back.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(discord.gateway.holders()).toEqual(['0:b']);
  });

  test('is given to another one by a process that cannot connect', async () => {
    const { discord, start, asked } = await begin();
    await start('a', { awayLimitMs: 500 });
    await start('b');
    discord.gateway.cutOff('a');
    await eventually(() => discord.gateway.holders().join() === '0:b');
    expect(await asked()).toBe('b');
    expect(discord.gateway.counts()).toEqual({ identified: 1, resumed: 1 });
  });

  test('whose holder goes on forgets the channels that are gone, and none that it cannot see', async () => {
    const { discord, start, kill, isKept } = await begin();
    const [kept, hidden, deleted, left] = [1, 2, 3, 4].map((no) =>
      no === 4 ? discord.addServer(0, 1) : discord.addChannel({ name: `channel-${no}` }),
    );
    if (!kept || !hidden || !deleted || !left) throw new Error('there are four');
    const forgotten: unknown[] = [];
    const ids = [kept.id, hidden.id, deleted.id, left.id];
    const own: Partial<Bot> = {
      keptChannels: async () => ids,
      forgetAll: async ({ channels }) => void forgotten.push(channels),
    };
    await start('a', {}, own);
    await start('b', {}, own);
    await isKept(3);
    discord.deny(hidden, 'ViewChannel');
    discord.remove(deleted.id);
    discord.leaveServer(left.guild_id ?? '');
    await kill('a');
    await eventually(() => new Set(forgotten.flat()).size >= 2);
    expect(new Set(forgotten.flat())).toEqual(new Set([deleted.id, left.id]));
  });

  test('needs no connection for alerts, nor for what is forgotten', async () => {
    const { discord, start } = await begin();
    await start('a');
    const { platform } = await start('b');
    const { id: channel } = discord.general;
    const card = { tone: 'bad' as const, title: 'Shop is down', parts: [], goesOn: true };
    const posted = await platform.post({ channel, card, id: 'i', attempted: false });
    await platform.update(channel, posted, { ...card, title: 'Shop is UP' });
    await platform.announce({ channel, posted, card, id: 'o', attempted: false });
    expect((await platform.post({ channel, card, id: 'i', attempted: true })).message).toBe(
      posted.message,
    );
    expect(
      discord.channel(channel).map(({ embeds, content }) => embeds[0]?.title ?? content),
    ).toEqual([expect.stringContaining('Shop is UP'), expect.stringContaining('Shop is down')]);
    expect(platform.hint?.()).toBeUndefined();
  });
});

describe.skipIf(!hasPostgres)('several shards', () => {
  test('are spread over the processes, and identify in one queue', async () => {
    const { discord, start, kill, asked } = await begin();
    Object.assign(discord.gateway, { recommendedShards: 2, maxConcurrency: 1 });
    const channels = [0, 1].map((shard) => discord.addServer(shard, 2));
    await Promise.all([start('a'), start('b')]);
    await eventually(() => discord.gateway.holders().length === 2);
    await eventually(
      () => new Set(discord.gateway.holders().map((one) => one.slice(2))).size === 2,
    );
    expect(discord.gateway.counts().identified).toBe(2);
    expect(discord.gateway.hasty()).toBe(0);
    for (const channel of channels) await asked(channel);
    await kill('a');
    await eventually(() => discord.gateway.holders().join() === '0:b,1:b');
    expect(discord.gateway.counts().identified).toBe(2);
    for (const channel of channels) expect(await asked(channel)).toBe('b');
    expect(discord.gateway.doubledMs()).toBe(0);
  });

  test('have the commands registered by one', async () => {
    const { discord, start } = await begin();
    await start('a');
    await Promise.all([start('b'), start('c')]);
    await eventually(() => discord.commands.get('global'));
    const asked = discord.requests.filter(({ path }) => path.endsWith('/commands'));
    expect(new Set(asked.map(({ from }) => from))).toEqual(new Set(['a']));
  });
});
