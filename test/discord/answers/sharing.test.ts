import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const isWhole = (message: FakeMessage | undefined) => message?.content.includes('-# test-model');

/** A private answer that its reader has before them. */
async function start() {
  const discord = await startDiscord();
  const running = await startTestBot();
  await startPlatform(discord, running.bot);
  running.provider.answerWith('Quietly.');
  const asked = discord.slash('ask', { question: 'Psst?', private: true });
  const answer = await eventually(() => isWhole(asked.reply) && asked.reply);
  /** Presses Share, and returns the private reply. */
  async function refused() {
    const pressed = discord.press(answer, 'Share');
    const told = await eventually(() =>
      pressed.followUps.find(({ flags }) => (flags & MessageFlags.Ephemeral) !== 0),
    );
    return told.content;
  }
  return { discord, answer, refused, ...running };
}

const FORBIDDEN = { status: 403, body: { code: 50_013, message: 'Missing Permissions' } };
test('an answer that Discord refuses to show is not lost, and is remembered once', async () => {
  const { discord, answer, provider } = await start();
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
  const messages: Array<{ role: string; content: string }> =
    provider.calls.at(-1)?.body.messages ?? [];
  expect(discord.messages().filter(({ content }) => content.includes('Psst?'))).toHaveLength(
    shared,
  );
  expect(messages.filter(({ role }) => role !== 'system').map(({ content }) => content)).toEqual([
    'Psst?',
    'Quietly.',
    'And now?',
  ]);
});
