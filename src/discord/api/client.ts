import { setTimeout as pause } from 'node:timers/promises';
import {
  Client,
  DiscordAPIError,
  DiscordjsError,
  DiscordjsErrorCodes,
  Events,
  GatewayCloseCodes,
  GatewayIntentBits,
  Partials,
} from 'discord.js';
import type { Logger } from 'pino';
import { PlatformStartError } from '../../bot/shared/errors.ts';
import type { PlatformLimits } from '../../bot/shared/platform-limits.ts';
import { createCaches } from './caches.ts';
import { reasonOf } from './errors.ts';
import { makeRequest, withGate, withRateLimits, withTokenCheck } from './requests.ts';
import { allSettled, howManyCame, type Shards, shardOptions, sharedThrottler } from './shards.ts';

/**
 * Time until the next connection is ready, since discord.js retries refused gateways forever. Several connections come one
 * every 5 to 6.5 s. Source: @discordjs/ws 1.2, `SimpleIdentifyThrottler`.
 */
const START_LIMIT_MS = 30_000;

/** "Ready" doesn't wait longer for servers that are down: until then interactions wait, and die after 3 s. */
const GUILD_WAIT_MS = 1_500;
const REST_TIMEOUT_MS = 10_000;

/** The caller decides about longer waits. */
const MAX_RATE_LIMIT_WAIT_MS = 5_000;

/** `disconnect` waits this long for a reconnect under way. */
const RECONNECT_WAIT_MS = 2_000;

/** After a standstill or without a network, Discord doesn't confirm the close. */
const CLOSE_WAIT_MS = 1_000;

export const TOKEN_REFUSED =
  'Discord rejected DISCORD_TOKEN. Copy a new token: discord.com/developers/applications → your application → Bot → Reset Token.';

export const INTENT_REFUSED =
  'Discord refused an intent: DISCORD_MESSAGE_CONTENT is true, but Message Content Intent is off. Turn it on at discord.com/developers/applications → your application → Bot, or set DISCORD_MESSAGE_CONTENT=false.';

/** Advice by close code. Source: Discord docs, "Gateway Close Event Codes". */
const CLOSED_FOR_GOOD: Partial<Record<number, string>> = {
  [GatewayCloseCodes.AuthenticationFailed]: TOKEN_REFUSED,
  [GatewayCloseCodes.DisallowedIntents]: INTENT_REFUSED,
  [GatewayCloseCodes.ShardingRequired]:
    'DISCORD_SHARDS is too low for the number of servers this bot is in. Unset it, or set it to auto.',
};

export function buildClient(options: {
  apiUrl: string;
  messageContent: boolean;
  shards?: Shards;
  limits?: PlatformLimits;
  isHeld: () => boolean;
  unstored?: ReadonlySet<string>;
}): Client {
  const { limits } = options;
  const send = withGate(makeRequest, options);
  return new Client({
    ...shardOptions(options.shards ?? 'auto'),
    ws: { buildIdentifyThrottler: sharedThrottler() },
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      // Direct messages come with their content, without the privileged intent.
      GatewayIntentBits.DirectMessages,
      ...(options.messageContent ? [GatewayIntentBits.MessageContent] : []),
    ],
    // Discord does not announce direct channels, so discord.js would drop messages there.
    partials: [Partials.Channel],
    allowedMentions: { parse: [], repliedUser: false },
    enforceNonce: true,
    waitGuildTimeout: GUILD_WAIT_MS,
    makeCache: createCaches(),
    rest: {
      api: options.apiUrl,
      timeout: REST_TIMEOUT_MS,
      // Retries of discord.js would post twice; ours wait and carry a nonce.
      retries: 0,
      rejectOnRateLimit: ({ timeToReset }) => timeToReset > MAX_RATE_LIMIT_WAIT_MS,
      makeRequest: withTokenCheck(limits ? withRateLimits(send, limits) : send, options.apiUrl),
    },
  });
}

/** Logs in and waits until messages and commands arrive. Throws `PlatformStartError`; then the client is used up. */
export async function connect(
  client: Client,
  token: string,
  apiUrl: string,
  limitMs = START_LIMIT_MS,
): Promise<void> {
  const ready = new Promise<void>((resolve) => client.once(Events.ClientReady, () => resolve()));
  const closed = new Promise<number>((resolve) =>
    client.once(Events.ShardDisconnect, ({ code }) => resolve(code)),
  );
  let limit: NodeJS.Timeout | undefined;
  const tooLate = new Promise<'too late'>((resolve) => {
    limit = setTimeout(resolve, limitMs, 'too late');
  });
  client.on(Events.ShardReady, () => limit?.refresh());
  const login = client.login(token);
  try {
    const first = await Promise.race([Promise.all([login, ready]), tooLate]);
    if (first !== 'too late') return;
  } catch (error) {
    // The close code comes a moment after the rejection, which says the same in words that may change.
    const code = await Promise.race([closed, pause(500, undefined)]);
    throw startError(error, code, apiUrl);
  } finally {
    clearTimeout(limit);
    limit = undefined;
  }
  // discord.js may still log in later; then that must not stay.
  login.then(
    () => client.destroy(),
    () => {},
  );
  const what = howManyCame(client) ?? `Could not reach Discord at ${apiUrl}`;
  throw new PlatformStartError(
    `${what} within ${limitMs / 1000} s. Check the network, or DISCORD_API_URL.`,
  );
}

function startError(error: unknown, closeCode: number | undefined, apiUrl: string) {
  const sentence = closeCode === undefined ? undefined : CLOSED_FOR_GOOD[closeCode];
  const refused =
    (error instanceof DiscordjsError && error.code === DiscordjsErrorCodes.TokenInvalid) ||
    (error instanceof DiscordAPIError && error.status === 401);
  // Source: @discordjs/ws 1.2, `WebSocketManager.connect`; its sentence says when there are more.
  const isOften = error instanceof Error && error.message.startsWith('Not enough sessions');
  return new PlatformStartError(
    sentence ??
      (refused ? TOKEN_REFUSED : undefined) ??
      (isOften
        ? `Discord allows this bot no more connections today: ${error.message}.`
        : undefined) ??
      `Askwatch could not log in to Discord at ${apiUrl}: ${reasonOf(error)}`,
    { cause: error },
  );
}

/** Without a listener for errors the process would end. */
export function logEvents(client: Client, log: Logger): void {
  client.on(Events.Error, (error) => log.error({ err: error }, 'discord.js reported an error'));
  client.on(Events.Warn, (warning) => log.warn({ warning }, 'discord.js reported a warning'));
  client.on(Events.ShardError, (error, shard) =>
    log.warn({ err: error, shard }, 'the connection to Discord reported an error'),
  );
  client.on(Events.ShardReconnecting, (shard) => log.info({ shard }, 'reconnecting to Discord'));
  client.on(Events.ShardResume, (shard) => log.info({ shard }, 'reconnected to Discord'));
  client.rest.on('rateLimited', ({ route, timeToReset, scope }) =>
    log.warn({ route, waitMs: timeToReset, scope }, 'Discord is rate limiting the bot'),
  );
}

/**
 * Keeps an event that is none of those documented from ending the program: discord.js reads fields of whatever came, and
 * what it throws nobody catches (discord.js 14.28, `WebSocketManager.handlePacket`).
 */
export function guardPackets(client: Client, log: Logger): void {
  const { ws } = client as unknown as { ws: { handlePacket(...packet: unknown[]): boolean } };
  const handlePacket = ws.handlePacket.bind(ws);
  ws.handlePacket = (...packet) => {
    try {
      return handlePacket(...packet);
    } catch (error) {
      log.warn({ err: error }, 'Discord sent an unreadable message; ignoring it');
      return false;
    }
  };
}

/** Reports once if the connection has ended permanently or the token is refused. */
export function watchConnection(client: Client, onFatal: (error: Error) => void): void {
  let told = false;
  function end(sentence: string) {
    if (told) return;
    told = true;
    onFatal(new PlatformStartError(sentence));
  }
  client.on(Events.ShardDisconnect, ({ code }) =>
    end(CLOSED_FOR_GOOD[code] ?? `Discord closed the connection permanently (close code ${code}).`),
  );
  client.rest.on('response', (request, response) => {
    // Interaction tokens expire with a 401, too; those calls carry no bot token.
    if (response.status === 401 && request.data.auth !== false) end(TOKEN_REFUSED);
  });
}

/**
 * Leaves Discord. In the half second before a reconnect `destroy` does nothing and the connection comes back, so a
 * reconnect under way is waited for, whichever connection it is of. Source: @discordjs/ws 1.2, `WebSocketShard.destroy` returns early when idle.
 */
export async function disconnect(client: Client): Promise<void> {
  await Promise.race([allSettled(client), pause(RECONNECT_WAIT_MS, undefined, { ref: false })]);
  await Promise.race([client.destroy(), pause(CLOSE_WAIT_MS, undefined, { ref: false })]);
}
