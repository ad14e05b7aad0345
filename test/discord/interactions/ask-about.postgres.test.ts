import { describe, expect, onTestFinished, test } from 'vitest';
import { ASK_ABOUT } from '../../../src/bot/commands/ask-about.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startReplicas } from '../../helpers/discord/replicas.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';

describe.skipIf(!hasPostgres)('a question about a message', () => {
  test('is gone on with by another process, which knows the message', async () => {
    const discord = await startDiscord({ limit: false });
    const replicas = await startReplicas(discord);
    async function start(name: string) {
      const provider = await startModelProvider();
      onTestFinished(() => provider.close());
      provider.answerWith('A connection was cut.');
      const started = await replicas.start(name, async (store) => {
        const { bot } = await startTestBot({ store, provider, settings: { alertPollMs: 600_000 } });
        return bot;
      });
      await started.bot.start([started.platform]);
      return provider;
    }
    const first = await start('a');
    first.holdChunks();
    const message = discord.say('ECONNRESET: s3cret-in-log', { user: discord.addUser('bob') });
    await eventually(() => discord.commands.get('global')?.length);
    const chosen = discord.chooseFor(message, ASK_ABOUT.label);
    await eventually(() => chosen.form);
    discord.send(chosen, { question: 'what is it?' });
    await eventually(() => first.calls.length === 1);
    const second = await start('b');
    await replicas.kill('a');
    const shown = () => discord.channel(message.id).map(({ content }) => content);
    await eventually(() =>
      shown().some((text) => /^A connection was cut\.[\s\S]*-# test-model/.test(text)),
    );
    const told = String(second.calls[0]?.body.messages.at(-1).content);
    expect(told).toMatch(
      /^The question is about this message[\s\S]*Bob: ECONNRESET: s3cret-in-log/,
    );
    expect(told).toMatch(/what is it\?$/);
    // Question and answer once each; without the intent nothing else could tell what the message says.
    expect(discord.channel(message.id)).toHaveLength(2);
  });
});
