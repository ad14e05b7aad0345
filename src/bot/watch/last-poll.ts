import { z } from 'zod';
import type { Store } from '../../store/store.ts';

const StoredPoll = z.object({
  atMs: z.number(),
  /** Watching ended in order, so no later poll is missing. */
  last: z.boolean(),
});
type StoredPoll = z.infer<typeof StoredPoll>;

export type LastPoll = Awaited<ReturnType<typeof openLastPoll>>;

const STORED_EVERY_MS = 60_000;

/** A poll is late after so many intervals, and at least this time. */
const LATE = { polls: 3, ms: 60_000 };

/** A document of its own, so that the large state of the watch isn't written for it. */
export async function openLastPoll(store: Store, { pollMs }: { pollMs: number }) {
  const collection = store.collection<StoredPoll>({
    name: 'last-look',
    schema: StoredPoll,
    version: 1,
    whenCorrupt: 'forget',
  });
  const id = 'watching';
  let stored = await collection.get(id);
  let lastPoll = stored && {
    atMs: stored.atMs,
    // After a kill, polls of the last minute are unknown.
    uncertainMs: stored.last ? 0 : STORED_EVERY_MS,
  };

  async function write(poll: StoredPoll) {
    stored = await collection.update(id, () => poll);
  }

  return {
    /** Time of the last poll, if a poll at `nowMs` is late. `undefined` before the first poll ever. */
    gapBefore(nowMs: number) {
      if (!lastPoll) return undefined;
      const allowedMs = Math.max(LATE.polls * pollMs, LATE.ms) + lastPoll.uncertainMs;
      return nowMs - lastPoll.atMs > allowedMs ? lastPoll.atMs : undefined;
    },
    /** Stored at most once a minute. */
    async polled(nowMs: number) {
      lastPoll = { atMs: nowMs, uncertainMs: 0 };
      const isFresh = stored && !stored.last && Math.abs(nowMs - stored.atMs) < STORED_EVERY_MS;
      if (!isFresh) await write({ atMs: nowMs, last: false });
    },
    async end() {
      // Before the first poll of this run, the stored time is still right.
      if (lastPoll && lastPoll.uncertainMs === 0) await write({ atMs: lastPoll.atMs, last: true });
    },
  };
}
