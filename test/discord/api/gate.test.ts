import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const ALERT: Card = { tone: 'bad', title: 'Shop is down', parts: [] };

/** A platform whose hold can be taken away. */
async function start({ isHeld }: { isHeld: boolean }) {
  const discord = await startDiscord();
  const hold = { isHeld };
  const { bot, ...test } = await startTestBot();
  const started = await startPlatform(discord, bot, { isHeld: () => hold.isHeld });
  /** Requests since then, without the ones that only read. */
  const sentSince = (before: number) =>
    discord.requests.slice(before).filter(({ method }) => method !== 'GET');
  return { discord, hold, sentSince, ...test, ...started };
}

test('an alert fails for now, and is not sent, without the lease', async () => {
  const { discord, hold, sentSince, platform } = await start({ isHeld: true });
  const { id: channel } = discord.general;
  const posted = await platform.post({ channel, card: ALERT, id: 'a', attempted: false });
  hold.isHeld = false;
  const before = discord.requests.length;
  const line = { channel, posted, card: ALERT, id: 'b', attempted: true };
  for (const refused of [
    () => platform.post({ channel, card: ALERT, id: 'c', attempted: true }),
    () => platform.update(channel, posted, ALERT),
    () => platform.announce(line),
  ]) {
    await expect(refused()).rejects.toMatchObject({ name: 'DeliveryError', permanent: false });
  }
  expect(sentSince(before)).toEqual([]);
  expect(discord.requests.length).toBeGreaterThan(before);
});

test('a change that discord.js holds up for a rate limit is not sent once the hold is lost', async () => {
  const { discord, hold, platform } = await start({ isHeld: true });
  const { id: channel } = discord.general;
  const posted = await platform.post({ channel, card: ALERT, id: 'a', attempted: false });
  discord.rateLimit({ method: 'PATCH', path: /messages/, seconds: 0.5 });
  const change = platform.update(channel, posted, { ...ALERT, title: 'late' });
  const changes = () => discord.requests.filter(({ method }) => method === 'PATCH');
  await eventually(() => changes().length === 1);
  hold.isHeld = false;
  await expect(change).rejects.toMatchObject({ permanent: false });
  expect(changes()).toHaveLength(1);
});

test('the platform connects, registers commands and acknowledges before it has the lease, but shows nothing', async () => {
  const { discord, sentSince } = await start({ isHeld: false });
  expect(discord.commands.get(discord.guildId)?.length).toBeGreaterThan(0);
  const before = discord.requests.length;
  const command = discord.slash('askwatch help');
  const form = discord.slash('monitor add');
  const typing = discord.begin('monitor show', { monitor: 's' });
  const press = discord.press(discord.leaveButton('askwatch help?'), 'Do');
  const mention = discord.say('Hello', { mention: true });
  for (const gesture of [command, form, typing, press]) {
    await eventually(() => gesture.acknowledged);
  }
  expect(sentSince(before).map(({ path }) => path)).toEqual(
    Array.from({ length: 4 }, () => expect.stringMatching(/\/callback$/)),
  );
  expect(command.reply?.content).toBe('');
  expect(discord.channel(mention.id)).toEqual([]);
});

test('an answer under way ends with the hold, and the stop does not wait for it', async () => {
  const { discord, hold, sentSince, platform, provider } = await start({ isHeld: true });
  provider.answerWith(
    Array.from({ length: 1_000 }, (_, index) => `w${index} `),
    { chunkMs: 20 },
  );
  const { id } = discord.say('Count', { mention: true });
  await eventually(() => discord.channel(id)[0]?.content.startsWith('w0'));
  hold.isHeld = false;
  // One may be on its way.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const before = discord.requests.length;
  const beganMs = performance.now();
  await platform.stop();
  expect(performance.now() - beganMs).toBeLessThan(2_000);
  expect(sentSince(before)).toEqual([]);
  expect(discord.gateway.connected()).toBe(0);
});

test('a process without the lease shows that a command could not be stored, since no other process knows of it', async () => {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const card: Card = { tone: 'bad', title: 'Nothing was done', parts: [] };
  const dispatch: Bot['dispatch'] = async () => ({ kind: 'card', card, private: true });
  await startPlatform(discord, { ...bot, dispatch }, { isHeld: () => false });
  const asked = discord.slash('ask', { question: 'why?' });
  await eventually(() => JSON.stringify(asked.followUps).includes('Nothing was done'));
  expect(asked.reply).toBeUndefined();
});
