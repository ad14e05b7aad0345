import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';

async function start() {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const started = await startPlatform(discord, bot);
  const { id: role } = discord.addRole({ name: 'on call', mentionable: true });
  const card: Card = { tone: 'bad', title: 'Shop is down', parts: [], mention: role };
  const post = { channel: discord.general.id, card, id: 'a1', attempted: false };
  return { discord, role, card, post, ...started };
}

const shownIn = (discord: DiscordFake) => discord.channel(discord.general.id);

/** The allowed mentions of each request to a channel. */
const allowedIn = (discord: DiscordFake) =>
  discord.requests
    .filter(({ method, path }) => method !== 'GET' && /\/channels\/.*messages/.test(path))
    .map(({ body }) => body?.allowed_mentions);

const NOBODY = { parse: [], replied_user: false };

test('an alert calls its role when it is posted, and only shows it from then on', async () => {
  const { discord, role, card, post, platform } = await start();
  const posted = await platform.post(post);
  const [message] = shownIn(discord);
  expect(message).toMatchObject({ content: `<@&${role}>`, rang: [role], mention_everyone: false });
  await platform.update(post.channel, posted, { ...card, tone: 'good', title: 'Shop recovered' });
  expect(message).toMatchObject({ content: `<@&${role}>`, mention_roles: [] });
  await platform.announce({ ...post, posted, id: 'a1/end' });
  expect(allowedIn(discord)).toEqual([{ ...NOBODY, roles: [role] }, NOBODY, NOBODY]);
  expect(shownIn(discord)[1]).toMatchObject({ mention_roles: [], rang: [] });
});
test('a message has an address in its server', async () => {
  const { discord, post, platform } = await start();
  const posted = await platform.post(post);
  const address = await platform.linkTo?.(post.channel, posted);
  expect(address).toMatch(
    new RegExp(`^https://discord.com/channels/\\d+/${post.channel}/${posted.message}$`),
  );
  expect(address).toContain(discord.general.guild_id ?? 'no server');
});

test('a link is one more button, which leads to the web and asks the bot nothing', async () => {
  const { discord, card, post, platform } = await start();
  const link = { label: 'Runbook', url: 'https://wiki.example/shop?a=1' };
  const actions = [{ label: 'Check now', command: 'incident check', values: { incident: 'i' } }];
  const posted = await platform.post({ ...post, card: { ...card, actions, link } });
  const buttons = () => shownIn(discord)[0]?.components.flatMap(({ components }) => components);
  expect(buttons()?.[1]).toEqual({ type: 2, style: 5, ...link });
  await platform.update(post.channel, posted, card);
  expect(buttons()).toEqual([]);
});

test('an alert is shown without a link that Discord does not take', async () => {
  const { discord, card, post, platform, lines } = await start();
  const link = { label: 'Open', url: 'http://intranet:8080/' };
  const actions = [{ label: 'Check now', command: 'incident check', values: { incident: 'i' } }];
  const linked = { ...card, actions, link };
  const posted = await platform.post({ ...post, card: linked });
  const labels = () =>
    shownIn(discord)[0]?.components.flatMap((row) => row.components.map(({ label }) => label));
  expect(labels()).toEqual(['Check now']);
  await platform.update(post.channel, posted, { ...linked, title: 'Shop recovered' });
  expect(shownIn(discord)[0]?.embeds[0]?.title).toBe('Shop recovered');
  expect(lines).toContainEqual(expect.objectContaining({ level: 40, url: link.url }));
  expect(shownIn(discord)).toHaveLength(1);
});
