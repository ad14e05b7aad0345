import { z } from 'zod';
import { withinBytes } from '../../contracts/within-bytes.ts';
import type { Store } from '../../store/store.ts';
import { AnswerTimes } from '../ask/conversations.ts';
import { AnswerCall } from '../ask/private-answers.ts';
import { serviceOf, type ThreadAt } from '../commands/open-features.ts';
import type { GonePlaces } from '../shared/place.ts';
import { createAnswerEvidence, keptCalls } from './answer-evidence.ts';

/** One person's rating of an answer. */
const Rating = z.object({
  /** `none`: the person took the rating back. */
  as: z.enum(['good', 'bad', 'none']),
  atMs: z.number(),
  /** The invocation. It may be repeated after a kill, and then changes nothing. */
  by: z.string(),
  /** The chosen and the written reason for a bad rating. */
  reason: z.string().optional(),
  what: z.string().optional(),
});
export type Rating = z.infer<typeof Rating>;

const RatedTexts = z.object({
  question: z.string(),
  answer: z.string(),
  calls: z.array(AnswerCall),
  /** Present if a text was too long. */
  isCut: z.literal(true).optional(),
});
type RatedTexts = z.infer<typeof RatedTexts>;

/** A stored answer with its ratings. */
const Case = z.object({
  /** Key of the place. */
  place: z.string(),
  /** Absent for a private answer. */
  thread: z.string().optional(),
  /** By person's id. */
  ratings: z.record(z.string(), Rating),
  model: z.string().optional(),
  times: AnswerTimes,
  /** The first rating. */
  atMs: z.number(),
  /** Absent if texts are not kept. */
  said: RatedTexts.optional(),
});
export type Case = z.infer<typeof Case>;

/** An answer as its thread or the memory for private answers knows it. */
export interface RatedAnswer extends Pick<Case, 'model' | 'times'> {
  said?: Omit<RatedTexts, 'isCut'>;
}

/** The person who rates an answer, and where they see it. */
export interface RatedBy {
  person: string;
  place: string;
  thread?: string;
  invocation: string;
}

export interface RatingCounts {
  model: string;
  good: number;
  bad: number;
}

/** Ratings of answers, and the rated answers. */
export type Feedback = ReturnType<typeof createFeedback>;

export const feedbackOf = serviceOf<Feedback>('feedback');

const MAX_QUESTION_BYTES = 16_000;
const MAX_ANSWER_BYTES = 40_000;
const MAX_RATINGS_PER_ANSWER = 100;

/** Rated answers. The oldest are deleted first. */
const MAX_CASES = 2_000;

const DAY_MS = 86_400_000;

/** Ratings without texts are kept as long as the usage log. */
const RATINGS_ALONE_DAYS = 90;

const UNKNOWN_MODEL = 'not known';

/** Ratings in the store, one document per answer, kept for `days`. With 0 days no texts are kept. */
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

  /** Resolves to the new rating; `undefined` if the person can't rate this answer. */
  async function change(
    answer: string,
    by: RatedBy,
    rated: RatedAnswer | undefined,
    nextRating: (current: Rating | undefined) => Rating,
  ): Promise<Rating | undefined> {
    let rating: Rating | undefined;
    // Texts of a rating that is taken back leave no copy.
    await collection.erase(answer, (stored) => {
      rating = undefined;
      const kept = caseFor(stored && !isOld(stored) ? stored : undefined, by, rated);
      if (!kept) return stored;
      const { person } = by;
      const current = Object.hasOwn(kept.ratings, person) ? kept.ratings[person] : undefined;
      rating = nextRating(current);
      if (rating === current) return stored;
      return withTexts(withRating(kept, person, rating), rated, keepsTexts);
    });
    return rating;
  }

  return {
    evidence: keepsTexts ? evidence : { ...evidence, keep: async () => {} },
    keepsTexts,
    days: keepMs / DAY_MS,
    /**
     * Rates an answer. Another rating replaces the person's first one, and the same rating again takes it back. `rated` is the
     * answer as it is known; if it is no longer known, only an answer that was rated in this place before can be rated.
     * Resolves to the new rating; `undefined` if the answer can't be rated.
     */
    rate: async (
      answer: string,
      as: 'good' | 'bad',
      by: RatedBy,
      rated: RatedAnswer | undefined,
    ): Promise<Rating['as'] | undefined> => {
      const { invocation } = by;
      const rating = await change(answer, by, rated, (current) => {
        if (current?.by === invocation) return current;
        return { as: current?.as === as ? 'none' : as, atMs: Date.now(), by: invocation };
      });
      return rating?.as;
    },
    /** Rates an answer as bad and stores the reason; false if it can't be rated. */
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
    /** Ratings of answers in a place by model, most rated first. */
    async countsIn(place: string, fromMs: number): Promise<RatingCounts[]> {
      const cases = (await collection.list()).map(({ document }) => document);
      const here = cases.filter((one) => one.place === place && !isOld(one));
      return countByModel(here, fromMs);
    },
    /** Rated answers since then, oldest first. */
    async since(fromMs: number): Promise<Array<{ id: string; document: Case }>> {
      const all = await collection.list();
      return all
        .filter(({ document }) => document.atMs >= fromMs && !isOld(document) && isRated(document))
        .sort((a, b) => a.document.atMs - b.document.atMs);
    },
    /** Keys of places with a rated answer. */
    places: async () => (await collection.list()).map(({ document }) => document.place),
    async forgetThread(at: ThreadAt) {
      await evidence.forget(at);
      await collection.eraseAll(
        (_, { place, thread }) => place === at.place && thread === at.thread,
      );
    },
    async forgetPlaces(gone: GonePlaces) {
      await evidence.forgetPlaces(gone);
      await collection.eraseAll((_, { place }) => gone.has(place));
    },
    /** Deletes expired answers, the oldest beyond the limit, and texts that were stored before a change of the setting. */
    async forgetOld() {
      await evidence.forgetOld();
      const all = await collection.list();
      const newestFirst = all.sort((a, b) => b.document.atMs - a.document.atMs);
      const excess = new Set(newestFirst.slice(maxCases).map(({ id }) => id));
      await collection.eraseAll((id, one) => excess.has(id) || isOld(one));
      if (keepsTexts) return;
      for (const { id, document } of all) {
        if (hasTexts(document)) {
          await collection.erase(id, (current) => current && withoutTexts(current));
        }
      }
    },
  };
}

/** The case to be rated, new or stored; `undefined` if the person may not rate it. */
function caseFor(
  stored: Case | undefined,
  { person, place, thread }: RatedBy,
  rated: RatedAnswer | undefined,
): Case | undefined {
  if (!stored) {
    if (!rated) return undefined;
    const { model, times } = rated;
    return { place, thread, ratings: {}, model, times, atMs: Date.now() };
  }
  // No longer known where it was asked, but rated before by people who see it there.
  const isSeen = stored.place === place && stored.thread === thread;
  const mayRate = isSeen && (thread !== undefined || stored.ratings[person] !== undefined);
  if (!rated && !mayRate) return undefined;
  // A private answer may have been shared since.
  return thread === undefined ? stored : { ...stored, place, thread };
}

function withRating(stored: Case, person: string, rating: Rating): Case {
  const { [person]: _, ...others } = stored.ratings;
  const newest = Object.entries(others).slice(1 - MAX_RATINGS_PER_ANSWER);
  return { ...stored, ratings: Object.fromEntries([...newest, [person, rating]]) };
}

/** Texts are kept while the answer has a rating; a private answer's reader must agree with each rating. */
function withTexts(stored: Case, rated: RatedAnswer | undefined, keepsTexts: boolean): Case {
  const { said: before, ...rest } = stored;
  if (!keepsTexts || !isRated(stored)) return rest;
  const current = rated?.said && cutTexts(rated.said);
  return { ...rest, said: stored.thread === undefined ? current : (before ?? current) };
}

function countByModel(cases: readonly Case[], fromMs: number): RatingCounts[] {
  const counts = new Map<string, RatingCounts>();
  for (const { model = UNKNOWN_MODEL, ratings } of cases) {
    for (const { as, atMs } of Object.values(ratings)) {
      if (as === 'none' || atMs < fromMs) continue;
      const count = counts.get(model) ?? { model, good: 0, bad: 0 };
      counts.set(model, { ...count, [as]: count[as] + 1 });
    }
  }
  return [...counts.values()].sort((a, b) => b.good + b.bad - (a.good + a.bad));
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

function cutTexts({ question, answer, calls }: Omit<RatedTexts, 'isCut'>): RatedTexts {
  const cut = {
    question: withinBytes(question, MAX_QUESTION_BYTES),
    answer: withinBytes(answer, MAX_ANSWER_BYTES),
    calls: keptCalls(calls),
  };
  // Lengths are enough, because a cut text is shorter. The texts may be megabytes.
  const isCut =
    lengthOf(cut) !== lengthOf({ question, answer, calls }) || cut.calls.length < calls.length;
  return isCut ? { ...cut, isCut } : cut;
}

const lengthOf = ({ question, answer, calls }: Omit<RatedTexts, 'isCut'>) =>
  calls.reduce(
    (sum, { input, result }) => sum + input.length + result.length,
    question.length + answer.length,
  );
