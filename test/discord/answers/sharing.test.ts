import { expect, test } from 'vitest';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

const isWhole = (message: FakeMessage | undefined) => message?.content.includes('-# test-model');

/** A private answer that its reader has before them. */
async function start() {
  const running = await runDiscord();
  const { discord } = running;
  running.provider.answerWith('Quietly.');
  const asked = discord.slash('ask', { question: 'Psst?', private: true });
  const answer = await eventually(() => isWhole(asked.reply) && asked.reply);
  return { ...running, answer };
}

const FORBIDDEN = { status: 403, body: { code: 50_013, message: 'Missing Permissions' } };
test('an answer that Discord refuses to show is not lost, and is remembered once', async () => {
  const { discord, answer, provider, prompted } = await start();
  const channel = discord.directChannel(discord.alice);
  const asked = discord.slash('ask', { question: 'Psst?', private: true }, { channel });
  const direct = await eventually(() => isWhole(asked.reply) && asked.reply);
  for (const [message, shownIn] of [
    [answer, discord.general],
    [direct, channel],
  ] as const) {
    discord.fail({ method: 'POST', path: /^\/channels\/\d+\/messages$/, times: 9, ...FORBIDDEN });
    const pressed = discord.press(message, 'Share');
    await eventually(() =>
      pressed.followUps.some(({ content }) => /couldn’t show the answer/.test(content)),
    );
    discord.recover();
    discord.press(message, 'Share');
    const at = await eventually(() =>
      shownIn === channel ? channel.id : discord.threads()[1]?.id,
    );
    const shared = await eventually(() => discord.channel(at).find(isWhole));
    expect(shared.content).toContain('Quietly.');
  }
  // A second share of a whole one does nothing.
  const shared = discord.messages().filter(({ content }) => content.includes('Psst?')).length;
  discord.press(answer, 'Share');
  discord.say('And now?', { channel });
  await eventually(() => provider.calls.length === 3);
  expect(discord.messages().filter(({ content }) => content.includes('Psst?'))).toHaveLength(
    shared,
  );
  expect(prompted()).toEqual(['Psst?', 'Quietly.', 'And now?']);
});
