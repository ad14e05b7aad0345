import { snowflake } from './state.ts';

/** A connection's part of all servers. */
export interface Shard {
  id: number;
  count: number;
}

/** How long one identification keeps others of its key away, less what the way here took. Source: Discord docs, "Sharding". */
const IDENTIFY_MS = 4_900;

/** What an IDENTIFY says of its shard; one that says nothing is the only one. */
export function shardOf(told: unknown): Shard {
  const [id, count] = Array.isArray(told) ? (told as number[]) : [];
  return { id: id ?? 0, count: count ?? 1 };
}

/** Whether a shard is told of a server; what belongs to none goes to the first. Source: Discord docs, "Sharding". */
export function serves({ id, count }: Shard, guildId: string | undefined): boolean {
  return id === (guildId === undefined ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count)));
}

/** The server that an event belongs to. */
export function guildIdOf(t: string, d: unknown): string | undefined {
  const { id, guild_id } = d as { id?: string; guild_id?: string };
  return guild_id ?? (/^GUILD_(CREATE|UPDATE|DELETE)$/.test(t) ? id : undefined);
}

/** An id of a server that the given shard of so many is told of. */
export function guildIdFor(shard: number, count: number): string {
  const base = BigInt(snowflake()) >> 22n;
  return String((base - (base % BigInt(count)) + BigInt(shard)) << 22n);
}

/** Who may identify, and when. Source: Discord docs, "Sharding" and "Gateway Close Event Codes". */
export function createShardRules() {
  /** By the key that shards share: the last that identified, and when. */
  const last = new Map<number, { id: number; atMs: number }>();
  let hasty = 0;

  return {
    hasty: () => hasty,
    /** `later`: that one has to wait, which its client is told by an invalid session. */
    refusalOf(
      { id, count }: Shard,
      { leastShards, maxConcurrency }: { leastShards: number; maxConcurrency: number },
    ): 'later' | { code: number; reason: string } | undefined {
      if (id < 0 || id >= count) return { code: 4010, reason: 'Invalid shard.' };
      if (count < leastShards) return { code: 4011, reason: 'Sharding required.' };
      const key = id % maxConcurrency;
      const before = last.get(key);
      // The same shard again is a client that was started again, which real tests would wait for.
      if (before && before.id !== id && Date.now() - before.atMs < IDENTIFY_MS) {
        hasty += 1;
        return 'later';
      }
      last.set(key, { id, atMs: Date.now() });
      return undefined;
    },
  };
}
