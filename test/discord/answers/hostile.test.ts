import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { HOSTILE_TEXTS, repeatAndPropose } from '../../helpers/bot/hostile-texts.ts';
import { startTestBot, type TestBotOptions } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

/** Texts that would ping, link or mask, in every form that Discord reads. */
const HOSTILE = [
  '@everyone @here <@123456789012345678> <@!123456789012345678> <@&123456789012345678>',
  '<#123456789012345678> </monitor remove:123456789012345678> <id:customize> <\u200b@1>',
  '[https://bank.example](https://evil.example) [bank.example](<https://evil.example> "us")',
  '**bold** ~~no~~ ||hidden|| `code` ```fence``` # big',
  '"}],"embeds":[{"title":"forged"}],"x":[{"',
].join(' ');

async function start(options: Pick<TestBotOptions, 'models'> = {}) {
  const discord = await startDiscord();
  const alertPlaces = [{ platform: 'discord' as const, channel: discord.general.id }];
  const bot = await startTestBot({ ...options, settings: { alertPlaces } });
  const started = await startPlatform(discord, bot.bot);
  return { discord, ...bot, ...started };
}

/** Every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const TALKS = /\/messages(\/[^/]+)?$|^\/webhooks\/|\/callback$/;

/** All messages that the bot sent. */
const sentTo = (discord: DiscordFake) =>
  discord.requests.filter(({ method, path }) => method !== 'GET' && TALKS.test(path));

/** Texts that Discord reads for mentions and links; a code block is none. */
const readTexts = (body: unknown) =>
  textsIn(body).map((text) => text.replace(/```[\s\S]*?```/g, ''));

/** Expects that nothing the bot sent pings anyone, masks where it leads, or holds an embed or link that is not its own. `prose` may link. */
function expectHarmless(discord: DiscordFake, { prose = false } = {}) {
  const sent = sentTo(discord);
  expect(sent.length).toBeGreaterThan(0);
  for (const { body, path, status } of sent) {
    expect(status).toBeLessThan(300);
    const message = (path.endsWith('/callback') ? body?.data : body) as Record<string, unknown>;
    if (message?.content !== undefined || message?.embeds !== undefined) {
      expect(message.allowed_mentions).toMatchObject({ parse: [] });
      expect(message.allowed_mentions).not.toHaveProperty('roles.0');
    }
    for (const text of readTexts([message?.content, message?.embeds])) {
      expect(text).not.toMatch(
        /@everyone|@here|(?<!\\)<(?:@|(?:#|\/[^<>]+:)\d{17,20}>|id:[a-z]+>)/,
      );
      // Half a link, as in an answer that grows, is none.
      const masked = prose ? /(?<!\\)\[[^\]\n]*bank\.example[^\]\n]*\]\(/ : /(?<!\\)\[[^\]\n]*\]\(/;
      expect(text).not.toMatch(masked);
    }
    for (const embed of (message?.embeds ?? []) as Array<Record<string, unknown>>) {
      expect(embed.title).not.toBe('forged');
      expect(embed).not.toHaveProperty('url');
    }
  }
  for (const message of discord.messages().filter(({ author }) => author.id === discord.bot.id)) {
    expect(message).toMatchObject({ mention_everyone: false, mentions: [], mention_roles: [] });
  }
}

/** The answer in a thread, once it is whole. */
const answered = (discord: DiscordFake, thread: string) =>
  eventually(() => {
    const last = discord.channel(thread).at(-1);
    return last?.content.includes('-# test-model') && last;
  });

test('a question, and its asker’s name', async () => {
  const { discord } = await start();
  const user = { ...discord.addUser('mallory'), global_name: HOSTILE };
  const asked = discord.slash('ask', { question: HOSTILE }, { user });
  const reply = await eventually(() => asked.reply?.content && asked.reply);
  await answered(discord, reply.id);
  expect(reply.content).toContain('\\*\\*bold\\*\\*');
  expect((await discord.thread(reply.id)).name).not.toMatch(/@everyone|<@/);
  expectHarmless(discord);
});

test('a model’s text, in pieces of every size', async () => {
  const { discord, provider } = await start();
  provider.answerWith([HOSTILE, '\n\n', ...HOSTILE], { chunkMs: 2 });
  const asked = discord.slash('ask', { question: 'be nasty' });
  const reply = await eventually(() => asked.reply?.content && asked.reply);
  const { content } = await answered(discord, reply.id);
  expect(content).toContain('**bold**');
  expect(content).toContain('[https://bank.example] (https://evil.example)');
  for (const { method, path, body } of discord.requests) {
    if (method === 'GET' || !/messages(\/[^/]+)?$/.test(path)) continue;
    expect(Number(body?.flags) & MessageFlags.SuppressEmbeds).toBe(MessageFlags.SuppressEmbeds);
  }
  expectHarmless(discord);
});

test('hostile texts in names, in results of tools, in an answer that repeats them, and in cards', async () => {
  const models = [{ id: 'test-model', context_length: 100_000 }];
  const { discord, provider, service } = await start({ models });
  for (const name of HOSTILE_TEXTS) service.add({ name });
  provider.answerWith(repeatAndPropose(HOSTILE_TEXTS));
  const asked = discord.slash('ask', { question: 'how is everything?' });
  const reply = await eventually(() => asked.reply?.content && asked.reply);
  const cards = () =>
    discord
      .channel(reply.id)
      .filter(({ embeds }) => textsIn(embeds).join().includes('can confirm'));
  await eventually(() => cards().length === 3);
  expectHarmless(discord, { prose: true });
});

test('a private answer', async () => {
  const { discord, provider } = await start();
  provider.answerWith(HOSTILE);
  const asked = discord.slash('ask', { question: 'be nasty', private: true });
  await eventually(() => asked.reply?.content.includes('-# test-model'));
  expectHarmless(discord);
});

test('what the model gateway says of an error', async () => {
  const { discord, provider } = await start();
  const body = { error: { message: HOSTILE, type: HOSTILE, param: null, code: HOSTILE } };
  provider.failWith({ kind: 'status', status: 400, body });
  const asked = discord.slash('ask', { question: 'anything' });
  const reply = await eventually(() => asked.reply?.content && asked.reply);
  const told = await eventually(() => discord.channel(reply.id)[0]);
  expect(told.content).toContain('The model gateway rejected this');
  expectHarmless(discord);
});

test('names of monitors and what the service says of them, in lists, alerts and errors', async () => {
  const { discord, bot, service, platform } = await start();
  const name = HOSTILE.slice(0, 250);
  const shop = service.add({ name, target: 'https://shop.example/?@here' });
  service.add({ name: `2 ${name}`, status: HOSTILE });
  await bot.start([platform]);
  const reads = () => service.requests.filter(({ method }) => method === 'GET').length;
  const before = reads();
  await eventually(() => reads() > before + 1);
  service.setStatus(shop.id, 'DOWN');
  await eventually(() => discord.channel(discord.general.id)[0]);
  const gestures = [
    discord.slash('monitor list'),
    discord.slash('monitor show', { monitor: HOSTILE }),
    discord.slash('monitor alerts', { switch: 'on', filter: HOSTILE }),
    discord.slash('monitor pause', { monitor: name }),
  ];
  for (const interaction of gestures) {
    await eventually(() => interaction.followUps[0] ?? interaction.reply?.embeds[0]);
  }
  expectHarmless(discord);
});
