import {
  type APIGatewayBotInfo,
  type Client,
  Events,
  SimpleIdentifyThrottler,
  Status,
  type WebSocketOptions,
} from 'discord.js';
import { type Finding, ok, problem, warning } from '../../bot/shared/finding.ts';

/** The number of connections that share the servers; `auto` is Discord's recommendation. */
export type Shards = 'auto' | number;

export const shardOptions = (shards: Shards) =>
  shards === 'auto' ? { shards } : { shardCount: shards };

/**
 * One queue in which all connections of a client wait to identify. By itself discord.js makes one for each that asks at the same
 * moment, so all identify at once, and Discord sends away all but the first. Source: @discordjs/ws 1.2,
 * `SimpleContextFetchingStrategy.ensureThrottler`; measured.
 */
export function sharedThrottler(): NonNullable<WebSocketOptions['buildIdentifyThrottler']> {
  let throttler: Promise<SimpleIdentifyThrottler> | undefined;
  return (manager) => {
    throttler ??= manager
      .fetchGatewayInformation()
      .then((told) => new SimpleIdentifyThrottler(told.session_start_limit.max_concurrency));
    return throttler;
  };
}

/**
 * Resolves once no connection of a client is on its way: each is there, or has ended for good. Never rejects, and need not
 * ever resolve.
 */
export function allSettled(client: Client): Promise<void> {
  // The manager's own status stays "ready" while a shard reconnects.
  const isComing = ({ status }: { status: Status }) =>
    status !== Status.Ready && status !== Status.Disconnected;
  return new Promise((resolve) => {
    const look = () => {
      if (!client.ws.shards.some(isComing)) resolve();
    };
    for (const event of [Events.ShardReady, Events.ShardResume, Events.ShardDisconnect] as const) {
      client.on(event, look);
    }
    look();
  });
}

export function howManyCame({ ws }: Client): string | undefined {
  const came = ws.shards.filter(({ status }) => status === Status.Ready).size;
  return came === 0
    ? undefined
    : `Only ${came} of ${ws.shards.size} connections to Discord came up`;
}

/** Compares the configured connections with Discord's recommendation and today's limit. */
export function checkShards(shards: Shards, told: APIGatewayBotInfo): Finding {
  const check = 'Discord shards';
  const { remaining, reset_after: resetAfterMs } = told.session_start_limit;
  const wanted = shards === 'auto' ? told.shards : shards;
  if (remaining < wanted) {
    const hours = Math.ceil(resetAfterMs / 3_600_000);
    const text = `Discord allows this bot ${remaining} more connections today, but a start needs ${wanted}. Wait ${hours} h, and find out why it starts so often.`;
    return problem(check, text);
  }
  if (wanted < told.shards) {
    const text = `DISCORD_SHARDS is ${wanted}, but Discord recommends ${told.shards} for this bot. Unset it, or set it to ${told.shards}.`;
    return warning(check, text);
  }
  return ok(check, `connects ${wanted === 1 ? 'once' : `${wanted} times`}`);
}
