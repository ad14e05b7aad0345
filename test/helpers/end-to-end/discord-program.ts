import { onTestFinished } from 'vitest';
import type { DiscordFake } from '../../fakes/discord/discord.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { eventually } from '../eventually.ts';
import type { AtEnd } from '../temporary-folder.ts';

export const discordEnv = (discord: DiscordFake) => ({
  DISCORD_TOKEN: discord.settings.token,
  DISCORD_GUILD_ID: discord.guildId,
  DISCORD_API_URL: discord.api,
});

/** A model behind the gateway's contract. */
export async function startModel(atEnd: AtEnd = onTestFinished) {
  const model = await startModelProvider();
  atEnd(() => model.close());
  return { model, env: { GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey } };
}

/** A monitoring service whose monitors' statuses the test sets; alerts go to the first channel. */
export async function startWatched(discord: DiscordFake, atEnd: AtEnd) {
  const service = await startMonitoringService({ limit: false });
  atEnd(() => service.close());
  const env = {
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    ALERT_CHANNELS: `discord:${discord.general.id}`,
    ALERT_POLL_SECONDS: '1',
  };
  return { service, env };
}

export const waitFor = <T>(condition: () => T) => eventually(condition, { withinMs: 90_000 });
export const textOf = ({ content, embeds }: FakeMessage) => `${content} ${JSON.stringify(embeds)}`;
/** Whether an alert says that the outage goes on. */
export const isDown = (alert: FakeMessage) => /is DOWN/.test(textOf(alert));
export const questionShown = (asked: FakeInteraction) =>
  waitFor(() => asked.reply?.content && asked.reply.id);

/** The last message of a thread with so many, once its answer is whole. */
export async function answerIn(
  discord: DiscordFake,
  thread: string,
  count: number,
): Promise<string> {
  return await waitFor(() => {
    const texts = discord.channel(thread).map(({ content }) => content);
    return texts.length === count && texts.at(-1)?.includes('-# test-model') && texts.at(-1);
  });
}
