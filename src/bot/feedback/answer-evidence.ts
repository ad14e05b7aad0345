import { z } from 'zod';
import { withinBytes } from '../../contracts/within-bytes.ts';
import type { Store } from '../../store/store.ts';
import { AnswerCall } from '../ask/private-answers.ts';
import type { ThreadAt } from '../commands/open-features.ts';
import type { GonePlaces } from '../shared/place.ts';

/** Look-ups of the last answers of a thread. */
const Evidence = z.object({
  /** Key of the place. */
  place: z.string(),
  answers: z.array(z.object({ id: z.string(), atMs: z.number(), calls: z.array(AnswerCall) })),
});

const keyOf = ({ place, thread }: ThreadAt) => `${place}:${thread}`;

/** Answers of a thread. A rating of an older one is stored without look-ups. */
const MAX_ANSWERS = 5;
const KEEP_MS = 86_400_000;

/** Limits of one answer: more than it can have. */
const MAX_CALLS = 10;
const MAX_INPUT_BYTES = 2_000;
const MAX_RESULTS_BYTES = 20_000;

/** The calls, cut to what is stored. Pure. */
export function keptCalls(calls: readonly AnswerCall[]): AnswerCall[] {
  let left = MAX_RESULTS_BYTES;
  return calls.slice(0, MAX_CALLS).map(({ tool, input, result }) => {
    const kept = withinBytes(result, left);
    left -= Buffer.byteLength(kept);
    return { tool, input: withinBytes(input, MAX_INPUT_BYTES), result: kept };
  });
}

/**
 * Look-ups of answers that may be rated, kept for a day, one document per thread. They aren't part of the conversation because
 * that is read with every question.
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
    async keep(at: ThreadAt, id: string, calls: readonly AnswerCall[]) {
      if (calls.length === 0) return;
      await collection.update(keyOf(at), (current) => {
        const others = (current?.answers ?? []).filter((one) => one.id !== id && isKept(one));
        const answer = { id, atMs: Date.now(), calls: keptCalls(calls) };
        return { place: at.place, answers: [...others, answer].slice(-MAX_ANSWERS) };
      });
    },
    /** Empty if nothing is stored any more. */
    async of(at: ThreadAt, id: string): Promise<AnswerCall[]> {
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
