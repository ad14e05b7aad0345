import type { DiscordFake } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { eventually } from '../eventually.ts';

export const discordEnv = (discord: DiscordFake) => ({
  DISCORD_TOKEN: discord.settings.token,
  DISCORD_GUILD_ID: discord.guildId,
  DISCORD_API_URL: discord.api,
});

export const textOf = ({ content, embeds }: FakeMessage) => `${content} ${JSON.stringify(embeds)}`;
/** True if the alert says that the outage is ongoing. */
export const isDown = (alert: FakeMessage) => /is down/.test(textOf(alert));

/** The last message of a thread with so many, once its answer is whole. */
export async function answerIn(
  discord: DiscordFake,
  thread: string,
  count: number,
): Promise<string> {
  return await eventually(() => {
    const texts = discord.channel(thread).map(({ content }) => content);
    return texts.length === count && texts.at(-1)?.includes('-# test-model') && texts.at(-1);
  });
}
