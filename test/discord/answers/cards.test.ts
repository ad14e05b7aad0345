import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { proposing } from '../../helpers/discord/proposing.ts';
import { labelsOf } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const isEphemeral = ({ flags }: FakeMessage) => (flags & MessageFlags.Ephemeral) !== 0;
const shownIn = ({ embeds }: FakeMessage) => JSON.stringify(embeds);
/** A bot whose model proposes what to watch; `wrap` changes the bot that the platform gets. */
async function start({ wrap = (bot: Bot) => bot, targets = ['https://example.com'] } = {}) {
  const discord = await startDiscord();
  const running = await startTestBot();
  running.provider.answerWith(proposing(...targets));
  const invocations: Invocation[] = [];
  const heard: Bot = {
    ...running.bot,
    dispatch(invocation, onStored) {
      invocations.push(invocation);
      return running.bot.dispatch(invocation, onStored);
    },
  };
  const { platform, lines } = await startPlatform(discord, wrap(heard));
  /** All cards there are. */
  const cards = () => discord.messages().filter(({ embeds }) => embeds.length > 0);
  return {
    ...{ discord, platform, lines, invocations, cards },
    ...{ service: running.service, provider: running.provider },
    /** The card, once it is there. */
    card: () => eventually(() => cards()[0]),
    /** Once all of the answer in a thread is shown, and that is noted. */
    async ended(thread: string, { id: channel } = discord.general) {
      const isEnded = async () =>
        (await running.bot.answersIn({ platform: 'discord', channel }, thread)).length === 0;
      await eventually(isEnded);
    },
  };
}

const PLACES: Record<string, (discord: DiscordFake) => unknown> = {
  'a thread': (discord) => discord.say('Watch it', { mention: true }),
  'a thread for a slash command': (discord) => discord.slash('ask', { question: 'Watch it' }),
  'the open channel'(discord) {
    discord.deny(discord.general, 'CreatePublicThreads');
    discord.say('Watch it', { mention: true });
  },
  'the open channel for a slash command'(discord) {
    discord.deny(discord.general, 'CreatePublicThreads');
    discord.slash('ask', { question: 'Watch it' });
  },
  'a direct conversation': (discord) =>
    discord.say('Watch it', { channel: discord.directChannel(discord.alice) }),
  'a private reply': (discord) => discord.slash('ask', { question: 'Watch it', private: true }),
};

test.each(Object.entries(PLACES))(
  'a card below an answer in %s asks what the answer proposes, and Confirm does it in its place',
  async (where, ask) => {
    const { discord, card, service, cards, invocations } = await start();
    ask(discord);
    const asks = await card();
    expect(asks.embeds[0]?.title).toBe('Watch example.com?');
    expect(labelsOf(asks)).toEqual(['Watch', 'Cancel']);
    expect(isEphemeral(asks)).toBe(where === 'a private reply');
    expect(asks.flags & MessageFlags.SuppressEmbeds).toBe(0);
    const [answer, ...below] = discord
      .messages()
      .filter(({ content, id }) => content.startsWith('It waits for you.') || id === asks.id);
    expect(answer?.content).toContain('-# test-model');
    expect(below).toEqual([asks]);
    expect(asks.channel_id).toBe(answer?.channel_id);
    expect(service.monitors).toEqual([]);
    const pressed = discord.press(asks, 'Watch');
    await eventually(() => shownIn(asks).includes('Now watching'));
    expect(asks).toMatchObject({
      ...{ content: '', components: [] },
      embeds: [{ title: 'Now watching example.com', footer: { text: 'Confirmed by Alice' } }],
    });
    expect(service.monitors).toMatchObject([{ target: 'https://example.com' }]);
    expect(pressed.followUps).toEqual([]);
    expect(cards()).toEqual([asks]);
    const confirm = invocations.at(-1);
    expect(confirm?.request).toMatchObject({ command: 'proposal confirm' });
    const isDirect = where === 'a direct conversation';
    expect(confirm?.place.channel).toBe(isDirect ? asks.channel_id : discord.general.id);
  },
);

test.each(['a thread', 'the open channel', 'a direct conversation'])(
  'a press under a card below an answer in %s belongs to the conversation of the answer',
  async (where) => {
    const { discord, card, ended, invocations, provider, cards } = await start();
    PLACES[where]?.(discord);
    const asks = await card();
    const [asked] = discord.messages();
    const isDirect = where === 'a direct conversation';
    const key = (isDirect ? asks.channel_id : asked?.id) ?? '';
    await ended(key, isDirect ? discord.channelOf(key) : discord.general);
    discord.press(asks, 'Cancel');
    await eventually(() => invocations.length === 2);
    expect(invocations[1]).toMatchObject({ request: { command: 'proposal cancel' }, thread: key });
    // A reply to the card continues the conversation.
    provider.answerWith('Well.');
    const channel = discord.channelOf(asks.channel_id);
    discord.say('And now?', { channel, mention: true, replyTo: asks });
    await eventually(() => invocations.length === 3);
    expect(invocations[2]).toMatchObject({ thread: key });
    expect(cards()).toHaveLength(1);
  },
);
test('each card is a message of its own, in their order, and is decided by itself', async () => {
  const targets = ['https://a.example', 'https://b.example'];
  const { discord, cards, service } = await start({ targets });
  discord.say('Watch them', { mention: true });
  const [first, second] = await eventually(() => cards().length === 2 && cards());
  const titles = () => cards().map(({ embeds }) => embeds[0]?.title);
  expect(titles()).toEqual(['Watch a.example?', 'Watch b.example?']);
  discord.press(second as FakeMessage, 'Watch');
  await eventually(() => service.monitors.length === 1);
  await eventually(() => titles()[1] === 'Now watching b.example');
  expect(titles()[0]).toBe('Watch a.example?');
  discord.press(first as FakeMessage, 'Cancel');
  await eventually(() => shownIn(first as FakeMessage).includes('Nothing was done'));
  expect(service.monitors).toMatchObject([{ target: 'https://b.example' }]);
});

test('a card whose post was not answered is posted once', async () => {
  const { discord, cards, ended } = await start();
  const posts = { method: 'POST', path: /messages$/ };
  // The answer comes through.
  discord.fail({ ...posts, heldUntil: Promise.resolve() });
  discord.fail({ ...posts, drop: true, applied: true });
  const { id } = discord.say('Watch it', { mention: true });
  await eventually(() => cards().length > 0);
  await ended(id);
  const sent = discord.requests.filter(
    ({ method, path }) => method === 'POST' && path.endsWith('messages'),
  );
  expect(sent).toHaveLength(3);
  expect(cards()).toHaveLength(1);
});

test('a card that Discord refuses is passed over, and the answer has its end', async () => {
  const targets = ['https://a.example', 'https://b.example'];
  const { discord, cards, ended, lines } = await start({ targets });
  const posts = { method: 'POST', path: /messages$/ };
  discord.fail({ ...posts, heldUntil: Promise.resolve() });
  discord.fail({ ...posts, status: 400, body: { code: 50_035, message: 'Invalid Form Body' } });
  const { id } = discord.say('Watch them', { mention: true });
  await eventually(() => cards().length === 1);
  await ended(id);
  expect(cards()[0]?.embeds[0]?.title).toBe('Watch b.example?');
  expect(
    lines.filter(({ msg }) => /could not show a card below an answer/.test(`${msg}`)),
  ).toHaveLength(1);
  expect(discord.messages().some(({ content }) => /could not be shown/.test(content))).toBe(false);
});

test.each(['a thread', 'a private reply'])(
  'a press under a card below an answer in %s that is deleted meanwhile is answered by a message',
  async (where) => {
    const { discord, card, service, cards } = await start();
    PLACES[where]?.(discord);
    const asks = await card();
    let open = () => {};
    const heldUntil = new Promise<void>((resolve) => {
      open = resolve;
    });
    discord.fail({ method: 'PATCH', path: /@original$/, heldUntil });
    const pressed = discord.press(asks, 'Watch');
    await eventually(() => service.monitors.length === 1);
    discord.remove(asks.id);
    open();
    const told = await eventually(() => pressed.followUps[0]);
    expect(told.embeds).toMatchObject([
      { title: 'Now watching example.com', footer: { text: 'Confirmed by Alice' } },
    ]);
    expect(isEphemeral(told)).toBe(where === 'a private reply');
    expect(cards()).toEqual([told]);
  },
);

test.each(['a thread', 'a private reply'])(
  'an answer in %s that a process left once its card was shown stays as it is',
  async (where) => {
    let left: { id: string; thread?: string; shown: Record<string, string> } | undefined;
    let isOver = false;
    /** Notes nothing that the next process could not. */
    const wrap = (bot: Bot): Bot => ({
      ...bot,
      async dispatch(...given) {
        const reply = await bot.dispatch(...given);
        if (reply.kind !== 'answer') return reply;
        return {
          ...reply,
          async begin({ thread, shown = {} }) {
            left = { id: reply.id, shown, thread };
          },
          async ended() {
            isOver = true;
          },
        };
      },
    });
    const { discord, platform, card, cards } = await start({ wrap });
    PLACES[where]?.(discord);
    const asks = await card();
    await eventually(() => isOver);
    const shown = JSON.stringify(discord.messages());
    await platform.endAnswer?.({
      ...{ id: '', shown: {}, ...left },
      ...{ beganAtMs: Date.now(), invocation: 'x', person: discord.alice.id, private: false },
      ...{ channel: discord.general.id, note: 'Interrupted.', actionsIn: async () => [] },
    });
    expect(JSON.stringify(discord.messages())).toBe(shown);
    expect(cards()).toEqual([asks]);
  },
);
