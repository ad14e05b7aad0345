import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';

/** One answer, as far as it matters who used how much: nothing of what was said. */
const UsageEntry = z.object({
  atMs: z.number(),
  place: z.string(),
  person: z.string(),
  /** As shown then. */
  name: z.string(),
  model: z.string(),
  /** Of the question with all that was sent with it, and of the answer; absent when the gateway did not say. */
  tokens: z.int().nonnegative().optional(),
  /** How often something was looked up for it. */
  lookups: z.int().positive().optional(),
  /** Of the tokens, those that the look-ups took, as far as the gateway said; absent without any. */
  lookupTokens: z.int().nonnegative().optional(),
});
export type UsageEntry = z.infer<typeof UsageEntry>;

/** Who asked how much. */
export type UsageLog = ReturnType<typeof createUsageLog>;

const KEEP_MS = 90 * 86_400_000;

/** The log in the store's journal, kept for 90 days. */
export function createUsageLog(store: Store) {
  const journal = store.journal<UsageEntry>({ name: 'asked', schema: UsageEntry });
  return {
    add: ({ place, ...entry }: Omit<UsageEntry, 'place'> & { place: Place }) =>
      journal.append({ ...entry, place: placeKey(place) }),
    /** Answers in a place since then, oldest first. */
    async since(place: Place, fromMs: number) {
      const found: UsageEntry[] = [];
      for await (const entry of journal.read({ fromMs })) {
        if (entry.place === placeKey(place)) found.push(entry);
      }
      return found;
    },
    /** Answers in all places since then, oldest first. */
    everywhere: (fromMs: number) => journal.read({ fromMs }),
    /** Forgets who asked in places that are gone. */
    forgetPlaces: (gone: GonePlaces) =>
      journal.erase((entry) => (gone.has(entry.place) ? undefined : entry), {
        mentioning: gone.texts,
      }),
    /** Forgets what nobody asks for any more. */
    forgetOld: () => journal.prune(Date.now() - KEEP_MS),
  };
}
