import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { forgetOldest } from './forget-oldest.ts';

/** Which invocations were handled, so that a platform's repeats of one have no effect. */
export type SeenInvocations = ReturnType<typeof createSeenInvocations>;

const KEEP_MS = 86_400_000;

/** Ids are spread over so many documents by their hash: each stays small, and none needs a clean-up of its own. */
const BUCKETS = 256;
const MAX_PER_BUCKET = 100;

/** Invocations under way in memory; more only if platforms drop answers unread. */
const MAX_RUNNING = 10_000;

const Bucket = z.object({
  entries: z.record(
    z.string(),
    z.object({
      atMs: z.number(),
      done: z.boolean(),
      /** How long it is refused; a day without it. */
      keepMs: z.number().optional(),
    }),
  ),
});
type Bucket = z.infer<typeof Bucket>;
type Entry = Bucket['entries'][string];

/**
 * Remembers invocations for a day, at most 25,600 of them. One that was claimed but not finished, by a process that died,
 * may be claimed again.
 */
export function createSeenInvocations(store: Store) {
  const collection = store.collection<Bucket>({
    name: 'seen',
    schema: Bucket,
    version: 1,
    whenCorrupt: 'forget',
  });
  const running = new Set<string>();

  const isKept = ({ atMs, keepMs = KEEP_MS }: Entry) => atMs > Date.now() - keepMs;

  function withEntry(bucket: Bucket | undefined, key: string, how: Omit<Entry, 'atMs'>): Bucket {
    const kept = Object.entries(bucket?.entries ?? {})
      .filter(([other, one]) => other !== key && isKept(one))
      .slice(-(MAX_PER_BUCKET - 1));
    return { entries: Object.fromEntries([...kept, [key, { atMs: Date.now(), ...how }]]) };
  }

  return {
    /** True when this invocation is to be handled now; durable before it answers. */
    async claim(id: string) {
      const key = keyOf(id);
      if (running.has(key)) return false;
      running.add(key);
      forgetOldest(running, MAX_RUNNING);
      let claimed = false;
      try {
        await collection.update(bucketOf(key), (current) => {
          const entry = current?.entries[key];
          claimed = !(entry?.done && isKept(entry));
          return claimed ? withEntry(current, key, { done: false }) : current;
        });
        return claimed;
      } finally {
        if (!claimed) running.delete(key);
      }
    },
    /** Notes that it was handled to its end: from now on also a later process refuses it, for a day or `keepMs`. */
    async finish(id: string, keepMs?: number) {
      const key = keyOf(id);
      const how = { done: true, ...(keepMs !== undefined && { keepMs }) };
      await collection.update(bucketOf(key), (current) => withEntry(current, key, how));
      running.delete(key);
    },
    /** Gives back what was claimed and came to nothing: it may be claimed again. */
    async giveBack(id: string) {
      const key = keyOf(id);
      // A claim that comes now finds it undone: updates run in the order they came.
      const undone = collection.update(bucketOf(key), (current) =>
        current?.entries[key]?.done ? withEntry(current, key, { done: false }) : current,
      );
      running.delete(key);
      await undone;
    },
  };
}

/** Ids come from outside: hashed, they are short and cannot be a name with a meaning, such as `__proto__`. */
function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 32);
}

function bucketOf(key: string): string {
  return String(Number.parseInt(key.slice(0, 4), 16) % BUCKETS);
}
