import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { GonePlaces } from '../shared/gone-places.ts';
import { type Place, placeKey } from '../shared/place.ts';

/** One answer, as far as it matters who used how much: nothing of what was said. */
const Asked = z.object({
  atMs: z.number(),
  place: z.string(),
  person: z.string(),
  /** As shown then. */
  name: z.string(),
  model: z.string(),
  /** Of the question with all that was sent with it, and of the answer; absent when the gateway did not say. */
  tokens: z.int().nonnegative().optional(),
});
export type Asked = z.infer<typeof Asked>;

/** Who asked how much. */
export interface AskedBook {
  note(asked: Omit<Asked, 'place'> & { place: Place }): Promise<void>;
  /** Answers in a place since then, oldest first. */
  since(place: Place, fromMs: number): Promise<Asked[]>;
  /** Answers in all places since then, oldest first. */
  everywhere(fromMs: number): AsyncIterable<Asked>;
  /** Forgets who asked in places that are gone. */
  forgetPlaces(gone: GonePlaces): Promise<void>;
  /** Forgets what nobody asks for any more. */
  forgetOld(): Promise<void>;
}

const KEEP_MS = 90 * 86_400_000;

/** A book in the store's journal, kept for 90 days. */
export function createAskedBook(store: Store, nowMs: () => number = Date.now): AskedBook {
  const journal = store.journal<Asked>({ name: 'asked', schema: Asked });
  return {
    note: ({ place, ...asked }) => journal.append({ ...asked, place: placeKey(place) }),
    async since(place, fromMs) {
      const found: Asked[] = [];
      for await (const asked of journal.read({ fromMs })) {
        if (asked.place === placeKey(place)) found.push(asked);
      }
      return found;
    },
    everywhere: (fromMs) => journal.read({ fromMs }),
    forgetPlaces: (gone) =>
      journal.erase((asked) => (gone.has(asked.place) ? undefined : asked), {
        mentioning: gone.texts,
      }),
    forgetOld: () => journal.prune(nowMs() - KEEP_MS),
  };
}
