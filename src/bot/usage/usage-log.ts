import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';

/** Use of one answer, without its text. */
const UsageEntry = z.object({
  atMs: z.number(),
  place: z.string(),
  person: z.string(),
  /** The person's name at that time. */
  name: z.string(),
  model: z.string(),
  /** Counts prompt and answer; absent if the gateway did not say. */
  tokens: z.int().nonnegative().optional(),
  lookups: z.int().positive().optional(),
  /** Part of `tokens`, as far as the gateway said. */
  lookupTokens: z.int().nonnegative().optional(),
});
export type UsageEntry = z.infer<typeof UsageEntry>;

export type UsageLog = ReturnType<typeof createUsageLog>;

const KEEP_MS = 90 * 86_400_000;

export function createUsageLog(store: Store) {
  const journal = store.journal<UsageEntry>({ name: 'answer-usage', schema: UsageEntry });
  return {
    add: ({ place, ...entry }: Omit<UsageEntry, 'place'> & { place: Place }) =>
      journal.append({ ...entry, place: placeKey(place) }),
    /** Oldest first. */
    async since(place: Place, fromMs: number) {
      const found: UsageEntry[] = [];
      for await (const entry of journal.read({ fromMs })) {
        if (entry.place === placeKey(place)) found.push(entry);
      }
      return found;
    },
    /** In all places, oldest first. */
    everywhere: (fromMs: number) => journal.read({ fromMs }),
    forgetPlaces: (gone: GonePlaces) =>
      journal.erase((entry) => (gone.has(entry.place) ? undefined : entry), {
        mentioning: gone.texts,
      }),
    forgetOld: () => journal.prune(Date.now() - KEEP_MS),
  };
}

/** Answers by one person or by one model. */
export interface UsageSum {
  answers: number;
  tokens: number;
  lookups: number;
  /** Part of `tokens`. */
  lookupTokens: number;
  /** The newest answer. */
  last: UsageEntry;
}

/** Most tokens first. Pure. */
export function sumsBy(answers: readonly UsageEntry[], by: 'person' | 'model'): UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const answer of answers) {
    const sum = sums.get(answer[by]);
    sums.set(answer[by], {
      answers: (sum?.answers ?? 0) + 1,
      tokens: (sum?.tokens ?? 0) + (answer.tokens ?? 0),
      lookups: (sum?.lookups ?? 0) + (answer.lookups ?? 0),
      lookupTokens: (sum?.lookupTokens ?? 0) + (answer.lookupTokens ?? 0),
      last: answer,
    });
  }
  return [...sums.values()].sort((a, b) => b.tokens - a.tokens || b.answers - a.answers);
}
