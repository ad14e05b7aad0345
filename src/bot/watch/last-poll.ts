import { z } from 'zod';
import type { Store } from '../../store/store.ts';

const StoredPoll = z.object({
  atMs: z.number(),
  /** None came after it: watching was ended in order. */
  last: z.boolean(),
});
type StoredPoll = z.infer<typeof StoredPoll>;

/** When the monitors were last seen, also before a restart. */
export type LastPoll = Awaited<ReturnType<typeof openLastPoll>>;

const STORED_EVERY_MS = 60_000;

/** Usual waits without a good poll, and the least time, after which the next one comes late. */
const LATE = { polls: 3, ms: 60_000 };

/** Opens the document, which is small: the one of all that is watched is not written for this. */
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
    // After a kill, the polls of the last minute are forgotten.
    uncertainMs: stored.last ? 0 : STORED_EVERY_MS,
  };

  async function write(poll: StoredPoll) {
    stored = await collection.update(id, () => poll);
  }

  return {
    /** Since when no poll had come, if a good poll at `nowMs` comes late; nothing before the first poll ever. */
    gapBefore(nowMs: number) {
      if (!lastPoll) return undefined;
      const allowedMs = Math.max(LATE.polls * pollMs, LATE.ms) + lastPoll.uncertainMs;
      return nowMs - lastPoll.atMs > allowedMs ? lastPoll.atMs : undefined;
    },
    /** A poll went well. Stored once a minute at most. */
    async polled(nowMs: number) {
      lastPoll = { atMs: nowMs, uncertainMs: 0 };
      const isFresh = stored && !stored.last && Math.abs(nowMs - stored.atMs) < STORED_EVERY_MS;
      if (!isFresh) await write({ atMs: nowMs, last: false });
    },
    /** No further poll comes. */
    async end() {
      // Before the first poll of this run, what is stored is as true as it was.
      if (lastPoll && lastPoll.uncertainMs === 0) await write({ atMs: lastPoll.atMs, last: true });
    },
  };
}
