import { z } from 'zod';
import { withinBytes } from '../../contracts/within-bytes.ts';
import type { Store } from '../../store/store.ts';
import type { GonePlaces } from '../shared/place.ts';

/** One call of a tool for an answer. */
export const EvidenceCall = z.object({
  tool: z.string(),
  /** As it was called: JSON, unless a model wrote something else. */
  input: z.string(),
  /** As it was given to whoever called. */
  result: z.string(),
});
export type EvidenceCall = z.infer<typeof EvidenceCall>;

/** What was looked up for the last answers of a thread. */
const Evidence = z.object({
  /** In its one-word form. */
  place: z.string(),
  answers: z.array(z.object({ id: z.string(), atMs: z.number(), calls: z.array(EvidenceCall) })),
});

/** A thread, with its place in the one-word form. */
export interface ThreadAt {
  place: string;
  thread: string;
}

const keyOf = ({ place, thread }: ThreadAt) => `${place}:${thread}`;

/** Of one thread; whoever rates an older answer rates its words alone. */
const MAX_ANSWERS = 5;
const KEEP_MS = 86_400_000;

/** Of one answer: more calls than it may have, with what results may take. */
const MAX_CALLS = 10;
const MAX_INPUT_BYTES = 2_000;
const MAX_RESULTS_BYTES = 20_000;

/** What was looked up for an answer, as far as it is kept: cut to what an answer is given. Pure. */
export function keptCalls(calls: readonly EvidenceCall[]): EvidenceCall[] {
  let left = MAX_RESULTS_BYTES;
  return calls.slice(0, MAX_CALLS).map(({ tool, input, result }) => {
    const kept = withinBytes(result, left);
    left -= Buffer.byteLength(kept);
    return { tool, input: withinBytes(input, MAX_INPUT_BYTES), result: kept };
  });
}

/**
 * What was looked up for answers that may be rated, kept for a day beside the conversation, which is read with every question:
 * a document for each thread.
 */
export function createAnswerEvidence(store: Pick<Store, 'collection'>) {
  const collection = store.collection({
    name: 'answer-evidence',
    schema: Evidence,
    version: 1,
    whenCorrupt: 'forget',
  });
  const isKept = ({ atMs }: { atMs: number }) => atMs >= Date.now() - KEEP_MS;
  return {
    async keep(at: ThreadAt, id: string, calls: readonly EvidenceCall[]) {
      if (calls.length === 0) return;
      await collection.update(keyOf(at), (current) => {
        const others = (current?.answers ?? []).filter((one) => one.id !== id && isKept(one));
        const own = { id, atMs: Date.now(), calls: keptCalls(calls) };
        return { place: at.place, answers: [...others, own].slice(-MAX_ANSWERS) };
      });
    },
    /** None for an answer of which nothing is known any more. */
    async of(at: ThreadAt, id: string): Promise<EvidenceCall[]> {
      const found = (await collection.get(keyOf(at)))?.answers.find((one) => one.id === id);
      return found && isKept(found) ? found.calls : [];
    },
    async forget(at: ThreadAt) {
      await collection.erase(keyOf(at), () => undefined);
    },
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((_, { place }) => gone.has(place)),
    forgetOld: () => collection.eraseAll((_, { answers }) => !answers.some(isKept)),
  };
}
