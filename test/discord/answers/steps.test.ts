import { expect, onTestFinished, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { AnswerPart, Reply } from '../../../src/bot/shared/invocation.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const NOTE = 'Interrupted: Askwatch was restarted.';

/** Asks, and has the answer left by a process that dies while it looks something up; resolves once that is shown. */
async function leave(text: string, ask: (discord: DiscordFake) => unknown) {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const over = new AbortController();
  let left: { id: string; thread?: string; shown: Record<string, string> } | undefined;

  /** The answer as this process gives it: it never ends. */
  function halfOf(reply: Reply): Reply {
    if (reply.kind !== 'answer') return reply;
    const { id } = reply;
    return {
      ...reply,
      async begin({ thread, shown = {} }) {
        left = { id, shown, thread };
      },
      async *stream(): AsyncGenerator<AnswerPart> {
        yield { kind: 'text', text };
        yield { kind: 'step', step: { id: '1', what: 'the Shop', state: 'running' } };
        await new Promise((resolve) => over.signal.addEventListener('abort', resolve));
      },
    };
  }

  const wrapped: Bot = {
    ...bot,
    dispatch: async (...given) => halfOf(await bot.dispatch(...given)),
  };
  const { platform } = await startPlatform(discord, wrapped);
  // A stop would wait for it.
  onTestFinished(() => over.abort());
  ask(discord);
  const shown = await eventually(() =>
    discord.messages().find(({ content }) => content.includes('Looking up the Shop…')),
  );
  /** The next process ends the answer. */
  const end = (note = NOTE) =>
    platform.endAnswer?.({
      ...{ id: '', shown: {}, ...left },
      ...{ beganAtMs: Date.now(), invocation: 'x', person: discord.alice.id, private: false },
      ...{ channel: discord.general.id, note, actionsIn: async () => [] },
    });
  return { discord, shown, end };
}

test.each([
  ['a thread', (discord: DiscordFake) => discord.say('Why?', { mention: true })],
  [
    'a private reply',
    (discord: DiscordFake) => discord.slash('ask', { question: 'Why?', private: true }),
  ],
])(
  'an answer in %s that a process left while it looked something up ends without saying so',
  async (_where, ask) => {
    for (const [text, before] of [
      ['', ''],
      ['Because', 'Because\n'],
    ] as const) {
      const { discord, shown, end } = await leave(text, ask);
      expect(shown.content).toBe(`${before}-# Looking up the Shop…`);
      await end();
      const ended = discord.messages().find(({ id }) => id === shown.id);
      expect(ended?.content).toBe(`${before}*${NOTE}*`);
    }
  },
);

test('a long one that a process left while it looked something up ends without saying so, and with its note below', async () => {
  const text = 'x'.repeat(1_890);
  const ask = (discord: DiscordFake) => discord.say('Why?', { mention: true });
  const { discord, shown, end } = await leave(text, ask);
  const note = 'n'.repeat(150);
  await end(note);
  const contents = discord.channel(shown.channel_id).map(({ content }) => content);
  expect(contents).toEqual([text, `*${note}*`]);
});
