import { onTestFinished } from 'vitest';
import type { Bot, Platform } from '../../../src/bot/platform.ts';
import { createDiscord, type DiscordOptions } from '../../../src/discord/discord.ts';
import type { DiscordFake } from '../../fakes/discord/discord.ts';
import { eventually } from '../eventually.ts';
import { recordingLog } from '../recording-log.ts';

/** The platform under test, with what it told its owner. */
export interface StartedPlatform {
  platform: Platform;
  /** Errors passed to `onFatal`. */
  fatal: Error[];
  lines: Array<Record<string, unknown>>;
}

export interface StartOptions extends Partial<DiscordOptions> {
  /** Registers the commands for all servers instead of the fake's one. */
  everywhere?: boolean;
}

/** Builds the platform for a fake, without starting it; it is stopped with the test. */
export async function buildPlatform(
  discord: DiscordFake,
  options: StartOptions = {},
): Promise<StartedPlatform> {
  const { everywhere = false, ...given } = options;
  const { log, lines } = recordingLog();
  const fatal: Error[] = [];
  const platform = await createDiscord({
    token: discord.settings.token,
    ...(everywhere ? {} : { guildId: discord.guildId }),
    apiUrl: discord.api,
    messageContent: false,
    editIntervalMs: 30,
    isHeld: () => true,
    log,
    onFatal: (error) => fatal.push(error),
    ...given,
  });
  onTestFinished(() => platform.stop());
  return { platform, fatal, lines };
}

/** Starts the platform with a bot: the real discord.js client over the fake's REST and gateway. */
export async function startPlatform(
  discord: DiscordFake,
  bot: Bot,
  options: StartOptions = {},
): Promise<StartedPlatform> {
  const started = await buildPlatform(discord, options);
  await started.platform.start(bot);
  // Discord may take longer for them than a start waits.
  await eventually(() => discord.commands.has(options.everywhere ? 'global' : discord.guildId));
  return started;
}
