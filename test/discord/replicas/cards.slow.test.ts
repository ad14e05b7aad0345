import { describe, expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { proposing } from '../../helpers/discord/proposing.ts';
import { startReplicas } from '../../helpers/discord/replicas.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';

const TARGETS = ['https://a.example', 'https://b.example'];

/** A Discord, and processes that are its bot together, whose model proposes to watch two sites. */
async function begin() {
  // Whoever goes on comes too late for a nonce.
  const discord = await startDiscord({ nonceWindowMs: 0 });
  const [provider, service] = await Promise.all([
    startModelProvider(),
    startMonitoringService({ limit: false }),
  ]);
  provider.answerWith(proposing(...TARGETS));
  const replicas = await startReplicas(discord);
  async function start(name: string) {
    const settings = { alertPollMs: 600_000 };
    const started = await replicas.start(name, async (store) => {
      const { bot } = await startTestBot({ store, provider, service, settings });
      return bot;
    });
    await started.bot.start([started.platform]);
  }
  await start('a');
  await start('b');
  return {
    ...{ discord, provider, service, kill: replicas.kill },
    cards: () => discord.messages().filter(({ embeds }) => embeds.length > 0),
  };
}

const posts = (path: RegExp) => ({ method: 'POST', path });
const passing = { heldUntil: Promise.resolve() };
const never = { heldUntil: new Promise<void>(() => {}) };
const titlesOf = (messages: FakeMessage[]) => messages.map(({ embeds }) => embeds[0]?.title);

const WHERE: Record<string, { path: RegExp; before: number; ask(discord: DiscordFake): void }> = {
  'a thread': {
    ...{ path: /\/messages$/, before: 1 },
    ask: (discord) => void discord.say('Watch them', { mention: true }),
  },
  'messages of a slash command': {
    // The question is the reply, the answer the first that follows.
    ...{ path: /^\/webhooks\/\d+\/[^/]+$/, before: 1 },
    ask(discord) {
      discord.deny(discord.general, 'CreatePublicThreads');
      discord.slash('ask', { question: 'Watch them' });
    },
  },
};

describe.skipIf(!hasPostgres)('where a process dies below the end of an answer', () => {
  test.each(
    Object.entries(WHERE).flatMap(([where, one]) =>
      [0, 1].map((shown) => [where, shown, one] as const),
    ),
  )('in %s and has posted %i of two cards, another one posts the others', async (...given) => {
    const [, shown, { path, before, ask }] = given;
    const { discord, provider, service, kill, cards } = await begin();
    for (let no = 0; no < before + shown; no += 1) discord.fail({ ...posts(path), ...passing });
    discord.fail({ ...posts(path), ...never });
    ask(discord);
    const sent = () =>
      discord.requests.filter((one) => one.method === 'POST' && path.test(one.path)).length;
    await eventually(() => sent() === before + shown + 1);
    expect(cards()).toHaveLength(shown);
    const [first] = cards();
    await kill('a');
    await eventually(() => cards().length === 2);
    expect(titlesOf(cards())).toEqual(['Watch a.example?', 'Watch b.example?']);
    if (first) expect(cards()[0]).toBe(first);
    // Nobody asks the model once more.
    expect(provider.calls).toHaveLength(2);
    const [asks] = cards() as [FakeMessage];
    const answers = discord.messages().filter(({ content }) => content.startsWith('It waits'));
    expect(answers).toHaveLength(1);
    expect(asks.channel_id).toBe(answers[0]?.channel_id);
    discord.press(asks, 'Watch');
    await eventually(() => titlesOf(cards())[0] === 'Now watching a.example');
    expect(service.monitors).toMatchObject([{ target: 'https://a.example' }]);
    expect(cards()).toHaveLength(2);
  });

  test('and one of two cards is decided by then, another one posts the one that is not', async () => {
    const { discord, service, kill, cards } = await begin();
    const { path, ask } = WHERE['a thread'] as (typeof WHERE)[string];
    for (let no = 0; no < 2; no += 1) discord.fail({ ...posts(path), ...passing });
    discord.fail({ ...posts(path), ...never });
    discord.settings.nonceWindowMs = 300_000;
    ask(discord);
    const first = await eventually(() => cards()[0]);
    discord.press(first, 'Watch');
    await eventually(() => titlesOf(cards())[0] === 'Now watching a.example');
    await kill('a');
    await eventually(() => cards().length === 2);
    expect(titlesOf(cards())).toEqual(['Now watching a.example', 'Watch b.example?']);
    expect(service.monitors).toHaveLength(1);
  });
});
