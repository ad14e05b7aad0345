import { getServers } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/** Longer than any deadline, so that the deadline decides. */
const NEVER_MS = 3_600_000;

/** Resolver objects kept for the next question; making one costs as much as a question. */
const MAX_IDLE = 64;

/** Stands for no server: nothing is sent there. */
const NOWHERE = ['0.0.0.1:1'];

/** Resolver objects for DNS checks, each for one question at a time and one try. */
export interface Resolvers {
  /** One that asks `server` (`ip:port`), or the system's resolvers, which then share the time. */
  take(server: string | undefined, timeoutMs: number): Resolver;
  /** Breaks off what it still waits for and keeps it for the next question. */
  giveBack(resolver: Resolver): void;
}

/**
 * A pool that lets no resolver learn: c-ares remembers how fast a server is and then gives it only five times as long,
 * which would make a timeout of every answer that is merely slow. It forgets with the server itself.
 * Source: c-ares 1.34, ares_metrics.c and ares_update_servers.c.
 */
export function createResolvers(): Resolvers {
  const idle: Resolver[] = [];
  // Not those that ask the system's resolvers: the machine's settings may change.
  const pooled = new WeakSet<Resolver>();
  return {
    take(server, timeoutMs) {
      if (server === undefined) {
        return new Resolver({ timeout: Math.ceil(timeoutMs / getServers().length), tries: 1 });
      }
      // One try: a check that repeats itself would hide what it is there to find.
      const resolver = idle.pop() ?? new Resolver({ timeout: NEVER_MS, tries: 1 });
      pooled.add(resolver);
      resolver.setServers(NOWHERE);
      resolver.setServers([server]);
      return resolver;
    },
    giveBack(resolver) {
      resolver.cancel();
      if (pooled.has(resolver) && idle.length < MAX_IDLE) idle.push(resolver);
    },
  };
}
