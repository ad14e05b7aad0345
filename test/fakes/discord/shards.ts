import { snowflake } from './state.ts';

/** A connection's part of all servers. */
export interface Shard {
  id: number;
  count: number;
}

/** Minimum time between identifications with one key, with a tolerance for the network. Source: Discord docs, "Sharding". */
const IDENTIFY_MS = 4_900;

/** Reads the shard of an IDENTIFY; without one, it is the only shard. */
export function shardOf(told: unknown): Shard {
  const [id, count] = Array.isArray(told) ? (told as number[]) : [];
  return { id: id ?? 0, count: count ?? 1 };
}

/** True if a shard gets a server's events; the first shard gets events without a server. Source: Discord docs, "Sharding". */
export function serves({ id, count }: Shard, guildId: string | undefined): boolean {
  return id === (guildId === undefined ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count)));
}

/** The server that an event belongs to. */
export function guildIdOf(t: string, d: unknown): string | undefined {
  const { id, guild_id } = d as { id?: string; guild_id?: string };
  return guild_id ?? (/^GUILD_(CREATE|UPDATE|DELETE)$/.test(t) ? id : undefined);
}

/** Returns a server id that belongs to a shard. */
export function guildIdFor(shard: number, count: number): string {
  const base = BigInt(snowflake()) >> 22n;
  return String((base - (base % BigInt(count)) + BigInt(shard)) << 22n);
}

/** The rules for identifying. Source: Discord docs, "Sharding" and "Gateway Close Event Codes". */
export function createShardRules() {
  /** By the key that shards share: the last that identified, and when. */
  const last = new Map<number, { id: number; atMs: number }>();
  let hasty = 0;

  return {
    hasty: () => hasty,
    /** `later` means that the client must wait; it gets an invalid session. */
    refusalOf(
      { id, count }: Shard,
      { leastShards, maxConcurrency }: { leastShards: number; maxConcurrency: number },
    ): 'later' | { code: number; reason: string } | undefined {
      if (id < 0 || id >= count) return { code: 4010, reason: 'Invalid shard.' };
      if (count < leastShards) return { code: 4011, reason: 'Sharding required.' };
      const key = id % maxConcurrency;
      const before = last.get(key);
      // A repeated shard is a restarted client, for which tests needn't wait.
      if (before && before.id !== id && Date.now() - before.atMs < IDENTIFY_MS) {
        hasty += 1;
        return 'later';
      }
      last.set(key, { id, atMs: Date.now() });
      return undefined;
    },
  };
}
