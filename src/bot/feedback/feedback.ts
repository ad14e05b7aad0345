import { z } from 'zod';
import { withinBytes } from '../../contracts/within-bytes.ts';
import type { Store } from '../../store/store.ts';
import type { GonePlaces } from '../shared/place.ts';
import { createAnswerEvidence, EvidenceCall, keptCalls, type ThreadAt } from './answer-evidence.ts';

/** What somebody thinks of an answer. */
const Rating = z.object({
  /** `none` is taken back. */
  as: z.enum(['good', 'bad', 'none']),
  atMs: z.number(),
  /** The invocation it came of, which may come again after a kill and then changes nothing. */
  by: z.string(),
  /** What they chose and wrote of what was wrong. */
  reason: z.string().optional(),
  what: z.string().optional(),
});
export type Rating = z.infer<typeof Rating>;

/** When an answer was asked for, began and was whole, as far as that is known; Unix time. */
export const AnswerTimes = z.object({
  askedAtMs: z.number().optional(),
  firstTextAtMs: z.number().optional(),
  wholeAtMs: z.number().optional(),
});
export type AnswerTimes = z.infer<typeof AnswerTimes>;

/** What was said, and what was looked up for it. */
const Said = z.object({
  question: z.string(),
  answer: z.string(),
  calls: z.array(EvidenceCall),
  /** Something of it was too long to be kept. */
  isCut: z.literal(true).optional(),
});
type Said = z.infer<typeof Said>;

/** An answer that somebody rated. */
const Case = z.object({
  /** In its one-word form. */
  place: z.string(),
  /** The thread that remembers it; absent for one that only its asker saw. */
  thread: z.string().optional(),
  /** By the ids of people. */
  ratings: z.record(z.string(), Rating),
  /** The model that answered, where it is known. */
  model: z.string().optional(),
  times: AnswerTimes,
  /** When it was rated first. */
  atMs: z.number(),
  /** Absent where nobody may keep it. */
  said: Said.optional(),
});
export type Case = z.infer<typeof Case>;

/** An answer as it is known where it can be rated. */
export interface RatedAnswer extends Pick<Case, 'model' | 'times'> {
  said?: Omit<Said, 'isCut'>;
}

/** Who rates an answer, and where they see it. */
export interface RatedBy {
  person: string;
  place: string;
  thread?: string | undefined;
  invocation: string;
}

/** Good and bad ratings of answers of a model. */
export interface RatingCounts {
  model: string;
  good: number;
  bad: number;
}

/** Ratings of answers, and the answers that were rated. */
export type Feedback = ReturnType<typeof createFeedback>;

/** The longest text of each kind that is kept. */
const MAX_QUESTION_BYTES = 16_000;
const MAX_ANSWER_BYTES = 40_000;

/** Of one answer. */
const MAX_RATINGS = 100;

/** Answers that are kept; the oldest are forgotten first. */
const MAX_CASES = 2_000;

const DAY_MS = 86_400_000;

/** Where no texts are kept, ratings are kept as long as it is kept who asked. */
const RATINGS_ALONE_DAYS = 90;

/** Shown for an answer whose model is not known any more. */
const UNKNOWN_MODEL = 'not known';

/** Ratings in the store, a document for each rated answer by its id, kept for `days`; with 0 of them no texts are kept. */
export function createFeedback(
  store: Pick<Store, 'collection'>,
  { days, maxCases = MAX_CASES }: { days: number; maxCases?: number },
) {
  const collection = store.collection<Case>({
    name: 'feedback',
    schema: Case,
    version: 1,
    whenCorrupt: 'forget',
  });
  const evidence = createAnswerEvidence(store);
  const keepsTexts = days > 0;
  const keepMs = (keepsTexts ? days : RATINGS_ALONE_DAYS) * DAY_MS;
  const isOld = ({ atMs }: Case) => atMs < Date.now() - keepMs;

  /** The case with what is known of its answer, where this person may rate it; `undefined` where they may not. */
  function open(
    current: Case | undefined,
    { person, place, thread }: RatedBy,
    rated: RatedAnswer | undefined,
  ): Case | undefined {
    if (!current || isOld(current)) {
      if (!rated) return undefined;
      const { model, times } = rated;
      return { place, thread, ratings: {}, model, times, atMs: Date.now() };
    }
    // Here it is no longer known, and yet it was rated where they see it.
    const isSeen = current.place === place && current.thread === thread;
    const mayRate = isSeen && (thread !== undefined || current.ratings[person] !== undefined);
    if (!rated && !mayRate) return undefined;
    // What was private may be shared since.
    return thread === undefined ? current : { ...current, place, thread };
  }

  /** With one more rating, and with what was said as long as anybody rates it. */
  function withRating(
    kept: Case,
    person: string,
    rating: Rating,
    rated: RatedAnswer | undefined,
  ): Case {
    const { [person]: _, ...others } = kept.ratings;
    const all = [...Object.entries(others).slice(1 - MAX_RATINGS), [person, rating] as const];
    const { said: before, ...rest } = kept;
    const isKept = keepsTexts && all.some(([, { as }]) => as !== 'none');
    const told = rated?.said && keptTexts(rated.said);
    // What was private is kept as long as its asker says so with each rating.
    const said = kept.thread === undefined ? told : (before ?? told);
    return {
      ...rest,
      ratings: Object.fromEntries(all),
      ...(isKept && said && { said }),
    };
  }

  async function change(
    answer: string,
    by: RatedBy,
    rated: RatedAnswer | undefined,
    make: (before: Rating | undefined) => Rating,
  ): Promise<Rating | undefined> {
    let now: Rating | undefined;
    const next = (current: Case | undefined) => {
      now = undefined;
      const kept = open(current, by, rated);
      if (!kept) return current;
      const before = Object.hasOwn(kept.ratings, by.person) ? kept.ratings[by.person] : undefined;
      now = make(before);
      return now === before ? current : withRating(kept, by.person, now, rated);
    };
    // What is taken back is gone for good.
    await collection.erase(answer, next);
    return now;
  }

  return {
    // What nobody will read is not written.
    evidence: keepsTexts ? evidence : { ...evidence, keep: async () => {} },
    /** Whether more than ratings is kept, and for how many days. */
    keepsTexts,
    days: keepMs / DAY_MS,
    /**
     * Rates an answer as somebody wants: their other rating goes, and the same one again is taken back. `rated` is what is
     * known of it; without that, only what was rated there before can be. Resolves to how they rate it now; `undefined` when
     * that cannot be.
     */
    rate: async (
      answer: string,
      as: 'good' | 'bad',
      by: RatedBy,
      rated: RatedAnswer | undefined,
    ): Promise<Rating['as'] | undefined> => {
      const { invocation } = by;
      const now = await change(answer, by, rated, (before) => {
        if (before?.by === invocation) return before;
        return { as: before?.as === as ? 'none' : as, atMs: Date.now(), by: invocation };
      });
      return now?.as;
    },
    /** Keeps what somebody says was wrong with an answer, which they rate as bad by that; false when that cannot be. */
    async explain(
      answer: string,
      why: Pick<Rating, 'reason' | 'what'>,
      by: RatedBy,
      rated: RatedAnswer | undefined,
    ): Promise<boolean> {
      const words = keepsTexts ? why : {};
      const rating = { as: 'bad' as const, atMs: Date.now(), by: by.invocation, ...words };
      return (await change(answer, by, rated, () => rating)) !== undefined;
    },
    get: async (answer: string) => await collection.get(answer),
    /** Takes over ratings of an answer that were kept elsewhere; those that are here already stay. */
    async takeOver(answer: string, as: Record<string, 'good' | 'bad'>, old: Omit<Case, 'ratings'>) {
      const by = 'taken over';
      const ratings = Object.fromEntries(
        Object.entries(as).map(([person, one]) => [person, { as: one, atMs: old.atMs, by }]),
      );
      const said = keepsTexts && old.said && keptTexts(old.said);
      await collection.update(answer, (current) => {
        const kept = current ?? { ...old, said: undefined, ...(said && { said }) };
        return { ...kept, ratings: { ...ratings, ...current?.ratings } };
      });
    },
    /** How answers in a place were rated since then, by model, those with most ratings first. */
    async countsIn(place: string, fromMs: number): Promise<RatingCounts[]> {
      const counts = new Map<string, RatingCounts>();
      for (const { document } of await collection.list()) {
        if (document.place !== place || isOld(document)) continue;
        const { model = UNKNOWN_MODEL, ratings } = document;
        for (const { as, atMs } of Object.values(ratings)) {
          if (as === 'none' || atMs < fromMs) continue;
          const count = counts.get(model) ?? { model, good: 0, bad: 0 };
          counts.set(model, { ...count, [as]: count[as] + 1 });
        }
      }
      return [...counts.values()].sort((a, b) => b.good + b.bad - (a.good + a.bad));
    },
    /** All that somebody rates since then, oldest first. */
    async since(fromMs: number): Promise<Array<{ id: string; document: Case }>> {
      const all = await collection.list();
      return all
        .filter(({ document }) => document.atMs >= fromMs && !isOld(document) && isRated(document))
        .sort((a, b) => a.document.atMs - b.document.atMs);
    },
    /** Places with a rated answer, in their one-word form. */
    places: async () => (await collection.list()).map(({ document }) => document.place),
    /** Forgets what was rated in a thread, and what was looked up in it. */
    async forgetThread(at: ThreadAt) {
      await evidence.forget(at);
      await collection.eraseAll(
        (_, { place, thread }) => place === at.place && thread === at.thread,
      );
    },
    /** The same for places that are gone. */
    async forgetPlaces(gone: GonePlaces) {
      await evidence.forgetPlaces(gone);
      await collection.eraseAll((_, { place }) => gone.has(place));
    },
    /** Forgets what is kept long enough, and the oldest of what is too much. */
    async forgetOld() {
      await evidence.forgetOld();
      const all = await collection.list();
      const tooMany = all
        .sort((a, b) => b.document.atMs - a.document.atMs)
        .slice(maxCases)
        .map(({ id }) => id);
      const ids = new Set(tooMany);
      await collection.eraseAll((id, one) => ids.has(id) || isOld(one));
      if (keepsTexts) return;
      // They were kept before the setting was changed.
      for (const { id, document } of all) {
        if (hasTexts(document)) {
          await collection.erase(id, (current) => current && withoutTexts(current));
        }
      }
    },
  };
}

const isRated = ({ ratings }: Case) => Object.values(ratings).some(({ as }) => as !== 'none');

const hasTexts = ({ said, ratings }: Case) =>
  said !== undefined || Object.values(ratings).some((one) => one.reason ?? one.what);

function withoutTexts({ said: _, ratings, ...rest }: Case): Case {
  const bare = Object.entries(ratings).map(([person, { as, atMs, by }]) => [
    person,
    { as, atMs, by },
  ]);
  return { ...rest, ratings: Object.fromEntries(bare) };
}

/** What was said, cut to what is kept. */
function keptTexts({ question, answer, calls }: Omit<Said, 'isCut'>): Said {
  const kept = {
    question: withinBytes(question, MAX_QUESTION_BYTES),
    answer: withinBytes(answer, MAX_ANSWER_BYTES),
    calls: keptCalls(calls),
  };
  const isCut =
    kept.question !== question ||
    kept.answer !== answer ||
    kept.calls.length < calls.length ||
    kept.calls.some(
      ({ input, result }, at) => input !== calls[at]?.input || result !== calls[at]?.result,
    );
  return { ...kept, ...(isCut && { isCut }) };
}
