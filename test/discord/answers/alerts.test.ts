import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';

const card: Card = {
  tone: 'bad',
  title: 'Shop is down',
  parts: [{ kind: 'text', text: 'HTTP 500' }],
};

async function start(options: Parameters<typeof startDiscord>[0] = {}) {
  const { discord, platform } = await runDiscord({ fake: options });
  const channel = discord.general.id;
  const post = (id: string, attempted = false) => platform.post({ channel, card, id, attempted });
  return { discord, platform, channel, post };
}

const posts = (discord: DiscordFake) => discord.channel(discord.general.id);
test('a card’s buttons are shown, and an edit takes away those that the new card lacks', async () => {
  const { discord, platform, channel } = await start();
  const actions = [
    { label: 'Acknowledge', command: 'incident acknowledge', values: { incident: 'i1' } },
    { label: 'Check now', command: 'incident check', values: { incident: 'i1' } },
  ];
  const labels = () =>
    posts(discord)[0]?.components.map((row) => row.components.map((b) => b.label));
  const first = { ...card, actions };
  const posted = await platform.post({ channel, card: first, id: 'i1', attempted: false });
  expect(labels()).toEqual([['Acknowledge', 'Check now']]);
  await platform.update(channel, posted, { ...card, actions: actions.slice(1) });
  expect(labels()).toEqual([['Check now']]);
  await platform.update(channel, posted, card);
  expect(labels()).toEqual([]);
});

test.each([
  // Discord itself answers a repeat with the earlier message.
  { goesOn: true, nonceWindowMs: 60_000, deny: true },
  { goesOn: false, nonceWindowMs: 60_000, deny: true },
])(
  'a post that is found says whether what it shows goes on: %j',
  async ({ goesOn, nonceWindowMs, deny }) => {
    const { discord, platform, channel } = await start({ nonceWindowMs });
    const post = (card: Card, id: string, attempted: boolean) =>
      platform.post({ channel, card, id, attempted });
    if (deny) discord.deny(discord.general, 'ReadMessageHistory');
    discord.fail({ method: 'POST', path: /messages$/, applied: true, status: 502 });
    await expect(post({ ...card, goesOn }, 'a1', false)).rejects.toMatchObject({
      permanent: false,
    });
    const over = { ...card, goesOn: !goesOn };
    expect(await post(over, 'a1', true)).toMatchObject({ goesOn });
    expect(await post(over, 'a2', true)).toMatchObject({ goesOn: !goesOn });
    expect(posts(discord)).toHaveLength(2);
  },
);

test('a first try sends one request and does not read the channel', async () => {
  const { discord, post } = await start();
  const before = discord.requests.length;
  await post('incident 1');
  expect(discord.requests.slice(before).map(({ method }) => method)).toEqual(['POST']);
});

test('posts when the channel’s history may not be read', async () => {
  const { discord, post } = await start();
  discord.deny(discord.general, 'ReadMessageHistory');
  await post('incident 1', true);
  expect(posts(discord)).toHaveLength(1);
});

describe('a refusal for good', () => {
  test.each([
    ['SendMessages', /permission/],
    ['ViewChannel', /View Channel/],
  ] as const)('without %s says what to change', async (permission, sentence) => {
    const { discord, post } = await start();
    discord.deny(discord.general, permission);
    const tried = post('incident 1');
    await expect(tried).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
    await expect(tried).rejects.toThrow(sentence);
  });

  test('a refusal names a channel that doesn’t exist', async () => {
    const { discord, post } = await start();
    discord.remove(discord.general.id);
    const tried = post('incident 1');
    await expect(tried).rejects.toMatchObject({ permanent: true });
    await expect(tried).rejects.toThrow(/channel doesn’t exist/);
  });

  test.each(['general', '../users/@me', ''])('of %j, which is no id', async (channel) => {
    const { discord, platform } = await start();
    const before = discord.requests.length;
    const tried = platform.post({ channel, card, id: 'x', attempted: false });
    await expect(tried).rejects.toMatchObject({ permanent: true });
    expect(discord.requests).toHaveLength(before);
  });
});

describe('a trouble that passes', () => {
  test.each(['user', 'shared', 'global'] as const)(
    'is a long rate limit of scope %s, with the time to wait',
    async (scope) => {
      const { discord, post } = await start();
      discord.rateLimit({ path: /messages$/, seconds: 30, scope });
      const error = await post('incident 1').catch((cause: unknown) => cause);
      expect(error).toMatchObject({ name: 'DeliveryError', permanent: false });
      expect((error as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(29_000);
    },
  );

  test('is a short rate limit, which is waited for', async () => {
    const { discord, post } = await start();
    discord.rateLimit({ path: /messages$/, seconds: 1 });
    await post('incident 1');
    expect(posts(discord)).toHaveLength(1);
  });

  test.each([500, 502, 503])('is status %d, asked once', async (status) => {
    const { discord, post } = await start();
    discord.fail({ path: /messages$/, status, times: 5 });
    await expect(post('incident 1')).rejects.toMatchObject({ permanent: false });
    expect(discord.requests.filter(({ path }) => /messages$/.test(path))).toHaveLength(1);
  });
});

test('an edit of an old message is retried later after too many edits', async () => {
  const { discord, platform, channel, post } = await start();
  const posted = await post('incident 1');
  for (const message of posts(discord)) message.sentAtMs -= 3_700_000;
  const change = (title: string) => platform.update(channel, posted, { ...card, title });
  for (const title of ['One', 'Two', 'Three']) await change(title);
  await expect(change('Four')).rejects.toMatchObject({ permanent: false, retryAfterMs: 20_000 });
  expect(posts(discord)[0]?.embeds[0]?.title).toBe('Three');
});
