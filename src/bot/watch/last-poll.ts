import { z } from 'zod';
import type { Store } from '../../store/store.ts';

const Look = z.object({
  atMs: z.number(),
  /** None came after it: watching was ended in order. */
  last: z.boolean(),
});
type Look = z.infer<typeof Look>;

/** When the monitors were last seen, also before a restart. */
export interface LastLook {
  /** Since when nobody had looked, if a good look at `nowMs` comes late; nothing before the first look ever. */
  gapBefore(nowMs: number): number | undefined;
  /** A look went well. Stored once a minute at most. */
  looked(nowMs: number): Promise<void>;
  /** No further look comes. */
  end(): Promise<void>;
}

const STORED_EVERY_MS = 60_000;

/** Usual waits without a good look, and the least time, after which the next one comes late. */
const LATE = { polls: 3, ms: 60_000 };

/** Opens the document, which is small: the one of all that is watched is not written for this. */
export async function openLastLook(
  store: Store,
  { pollMs }: { pollMs: number },
): Promise<LastLook> {
  const collection = store.collection<Look>({
    name: 'last-look',
    schema: Look,
    version: 1,
    whenCorrupt: 'forget',
  });
  const id = 'watching';
  let stored = await collection.get(id);
  let seen: { atMs: number; uncertainMs: number } | undefined = stored && {
    atMs: stored.atMs,
    // After a kill, the looks of the last minute are forgotten.
    uncertainMs: stored.last ? 0 : STORED_EVERY_MS,
  };

  async function write(look: Look) {
    stored = await collection.update(id, () => look);
  }

  return {
    gapBefore(nowMs) {
      if (!seen) return undefined;
      const allowedMs = Math.max(LATE.polls * pollMs, LATE.ms) + seen.uncertainMs;
      return nowMs - seen.atMs > allowedMs ? seen.atMs : undefined;
    },
    async looked(nowMs) {
      seen = { atMs: nowMs, uncertainMs: 0 };
      const isFresh = stored && !stored.last && Math.abs(nowMs - stored.atMs) < STORED_EVERY_MS;
      if (!isFresh) await write({ atMs: nowMs, last: false });
    },
    async end() {
      // Before the first look of this run, what is stored is as true as it was.
      if (seen && seen.uncertainMs === 0) await write({ atMs: seen.atMs, last: true });
    },
  };
}
