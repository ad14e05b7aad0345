import { test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { storm } from '../helpers/end-to-end/alert-storm.ts';
import { discordStorm } from '../helpers/end-to-end/discord-storm.ts';

/** Shorter than most of the time between two lives: mostly a message is found by its reference, sometimes by its nonce. */
const NONCE_WINDOW_MS = 500;

test('killed at any moment while Discord fails, it tells each outage once and leaves every message true', async () => {
  const discord = await startDiscord({ nonceWindowMs: NONCE_WINDOW_MS });
  await storm(discordStorm(discord), { kills: 200 });
}, 7_200_000);
