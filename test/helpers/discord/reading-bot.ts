import { startDiscord } from '../../fakes/discord/discord.ts';
import { startTestBot, type TestBotOptions } from '../bot.ts';
import { startPlatform } from './start-platform.ts';

/** Discord with a bot whose model says one thing; `content` is whether it may see what people write to each other. */
export async function startReadingBot(options: {
  content: boolean;
  says: string;
  bot?: TestBotOptions;
}) {
  const { content, says, bot } = options;
  const discord = await startDiscord({ messageContentAllowed: content, limit: false });
  const test = await startTestBot({ ...bot, settings: { alertPollMs: 600_000 } });
  test.provider.answerWith(says);
  const started = await startPlatform(discord, test.bot, { messageContent: content });
  await test.bot.start([started.platform]);
  const prompted = (): Array<{ role: string; content: string }> =>
    test.provider.calls.at(-1)?.body.messages.slice(1) ?? [];
  return {
    discord,
    bob: discord.addUser('bob'),
    ...test,
    ...started,
    prompted,
    /** People's messages in the model's prompt, without times. */
    lines: () =>
      (prompted().at(-1)?.content ?? '')
        .split('\n')
        .filter((line) => line.startsWith('- '))
        .map((line) => line.replace(/^- \d{4}-\d\d-\d\d \d\d:\d\dZ /, '')),
  };
}
