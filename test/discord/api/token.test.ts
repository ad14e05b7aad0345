import { describe, expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const UNAUTHORIZED = { status: 401, body: { message: '401: Unauthorized', code: 0 } };
const CARD = { tone: 'info' as const, title: 'Shop is down', parts: [] };

async function start() {
  const running = await runDiscord();
  const { discord } = running;
  const channel = discord.general.id;
  const post = (id: string) => running.platform.post({ channel, card: CARD, id, attempted: false });
  /** Requests that check the token. */
  const checks = () => discord.requests.filter(({ path }) => path === '/gateway/bot').length;
  return { ...running, post, checks };
}

describe('a single 401', () => {
  test('a single 401 in mid-answer loses nothing', async () => {
    const { discord, provider, post, fatal } = await start();
    provider.answerWith(['One ', 'two ', 'three.']);
    const release = provider.holdChunks();
    const asked = discord.slash('ask', { question: 'Count' });
    const thread = await eventually(() => asked.reply?.content && asked.reply.id);
    await eventually(() => provider.calls.length === 1);
    discord.fail({ ...UNAUTHORIZED, path: /\/channels\/\d+\/messages/ });
    release();
    const text = await eventually(() =>
      discord.channel(thread).find(({ content }) => content.includes('-# test-model')),
    );
    expect(text.content).toMatch(/^One two three\./);
    expect(discord.channel(thread)).toHaveLength(1);
    await post('a');
    expect(discord.channel(discord.general.id).at(-1)?.embeds[0]?.title).toBe('Shop is down');
    expect(fatal).toEqual([]);
  });

  test('many 401s at once are confirmed, and all requests succeed', async () => {
    const { discord, platform, fatal } = await start();
    const channels = ['one', 'two', 'three'].map((name) => discord.addChannel({ name }).id);
    for (const id of channels) {
      discord.fail({ ...UNAUTHORIZED, path: new RegExp(`^/channels/${id}/messages$`) });
    }
    await Promise.all(
      channels.map((channel) =>
        platform.post({ channel, card: CARD, id: channel, attempted: false }),
      ),
    );
    expect(channels.map((id) => discord.channel(id).length)).toEqual([1, 1, 1]);
    expect(fatal).toEqual([]);
  });
  test('a single 401 doesn’t prevent the start', async () => {
    const discord = await startDiscord();
    const { bot } = await startTestBot();
    discord.fail({ ...UNAUTHORIZED, path: /gateway\/bot/ });
    await startPlatform(discord, bot);
    expect(discord.gateway.connected()).toBe(1);
  });
});

describe('a 401 that Discord cannot be asked about', () => {
  test.each([
    ['that it is in trouble', { status: 503 }],
    ['nothing', { drop: true }],
    ['that this address may not ask', { status: 403 }],
  ])('because it says %s is a trouble that passes', async (_what, fault) => {
    const { discord, post, fatal } = await start();
    discord.fail({ ...UNAUTHORIZED, method: 'POST', path: /messages$/ });
    discord.fail({ ...fault, path: /gateway\/bot/ });
    await expect(post('a')).rejects.toMatchObject({ permanent: false });
    await post('b');
    expect(fatal).toEqual([]);
  });

  test('repeated 401s end nothing while Discord accepts the token', async () => {
    const { discord, post, fatal } = await start();
    discord.fail({ ...UNAUTHORIZED, method: 'POST', path: /messages$/, times: 4 });
    await expect(post('a')).rejects.toMatchObject({ permanent: false });
    await expect(post('b')).rejects.toMatchObject({ permanent: false });
    await post('c');
    expect(fatal).toEqual([]);
  });
});

test('a token that was revoked ends the program, after Discord was asked again', async () => {
  const { discord, post, fatal, checks } = await start();
  const before = checks();
  discord.settings.token = 'another';
  await expect(post('a')).rejects.toMatchObject({ permanent: false });
  await expect(post('b')).rejects.toMatchObject({ permanent: false });
  expect(checks() - before).toBe(1);
  expect(fatal.map(({ message }) => message)).toEqual([expect.stringMatching(/DISCORD_TOKEN/)]);
});

test('the token of an interaction that is over asks nothing, and ends nothing', async () => {
  const { discord, lines, fatal, checks } = await start();
  const before = checks();
  const code = { message: 'Invalid Webhook Token', code: 50_027 };
  discord.fail({ status: 401, body: code, path: /^\/webhooks\//, times: 3 });
  discord.slash('monitor list');
  await eventually(() => lines.some(({ level }) => Number(level) >= 50));
  expect(checks()).toBe(before);
  expect(fatal).toEqual([]);
});
