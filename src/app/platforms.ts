import { consolePlatform } from './platforms/console.ts';
import { discord } from './platforms/discord.ts';
import type { PlatformRegistration } from './platforms/registration.ts';
import { slack } from './platforms/slack.ts';
import { webhook } from './platforms/webhook.ts';

/**
 * The chat platforms, in the order in which people are shown them. A new one is its room and a line here: settings, banner,
 * `doctor`, manifests, and what the bot knows of a platform are derived from this table.
 */
export const platforms: readonly PlatformRegistration[] = [
  slack,
  discord,
  consolePlatform,
  webhook,
];

/** Platforms whose channels have names that a file may say; a webhook's address is a secret. */
export const namedPlatforms = platforms.flatMap(({ name, channelId }) => (channelId ? [] : [name]));
