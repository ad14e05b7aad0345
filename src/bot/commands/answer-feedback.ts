import { z } from 'zod';
import { conversationKey } from '../ask/conversations.ts';
import type { Case, RatedAnswer } from '../feedback/feedback.ts';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import { counted } from '../shared/text-format.ts';
import { type Call, command, optionalText, requiredText } from './command.ts';

/** What somebody writes of an answer. */
const MAX_WHAT = 1_000;

/** Whether more than the rating of a private answer may be kept. */
const RATING_ALONE = 'only my rating';
const ALL = 'the question and the answer, too';

const answerInput = {
  answer: requiredText(40, 'The answer above the button'),
  private: z.boolean().optional().describe('Whether only one person sees it'),
};

const NOT_REMEMBERED =
  'Askwatch no longer remembers this answer, so it cannot be rated. Ask again and rate the new one.';

/** An answer as it is known where somebody sees it, in the thread that remembers it; `undefined` when it is not. */
async function ratedIn(
  { answer, private: isPrivate }: { answer: string; private?: boolean },
  thread: string | undefined,
  {
    ask,
    conversations,
    feedback,
    place,
    person,
  }: Pick<Call, 'ask' | 'conversations' | 'feedback' | 'place' | 'person'>,
): Promise<RatedAnswer | undefined> {
  if (isPrivate) return ask.ratedPrivate(answer, person.id);
  if (thread === undefined) return undefined;
  const turns = await conversations.turns(conversationKey(place, thread));
  const turn = turns.find(({ id }) => id === answer);
  if (!turn) return undefined;
  const { question, answer: text, atMs, model, generated } = turn;
  const calls = await feedback.evidence.of({ place: placeKey(place), thread }, answer);
  const { model: answered = model, times = { wholeAtMs: atMs } } = generated ?? {};
  return { model: answered, times, said: { question, answer: text, calls } };
}

/** Without its words. */
const wordless = (rated: RatedAnswer | undefined): RatedAnswer | undefined =>
  rated && { model: rated.model, times: rated.times };

/** Whether somebody in a place sees an answer that was rated. */
const isSeenIn = (kept: Case | undefined, place: string, person: string) =>
  kept?.place === place && (kept.thread !== undefined || Object.hasOwn(kept.ratings, person));

/** What people think of an answer: one rating a person, which they change or take back. */
export const rate = command({
  name: 'answer rate',
  summary: 'Rate an answer',
  right: 'anyone',
  input: z.object({ ...answerInput, as: z.enum(['good', 'bad']).describe('good or bad') }),
  async opens({ answer, private: isPrivate, as }, { feedback, place, person }) {
    const kept = as === 'bad' ? await feedback.get(answer) : undefined;
    // What is rated so already is taken back by it, and asks for nothing.
    const isRatedSo =
      isSeenIn(kept, placeKey(place), person.id) && kept?.ratings[person.id]?.as === 'bad';
    if (as !== 'bad' || isRatedSo) return undefined;
    return { form: explain.name, carried: { answer, ...(isPrivate && { private: 'true' }) } };
  },
  async run({ as, ...about }, call) {
    const { feedback, invocation, place, person } = call;
    // Only its own thread remembers it.
    const thread = about.private ? undefined : invocation.thread;
    const rated = await ratedIn(about, thread, call);
    const by = {
      ...{ person: person.id, place: placeKey(place), thread },
      invocation: invocation.id,
    };
    const known = about.private ? wordless(rated) : rated;
    const now = await feedback.rate(about.answer, as, by, known);
    if (!now) throw new CommandError(NOT_REMEMBERED);
    if (now === 'none') {
      return toAsker(
        textCard('info', 'Rating removed', 'Nothing from you is kept for this answer.'),
      );
    }
    return toAsker(thanksCard(now, { feedback, isPrivate: about.private ?? false }));
  },
});

function thanksCard(
  as: 'good' | 'bad',
  { feedback, isPrivate }: Pick<Call, 'feedback'> & { isPrivate: boolean },
): Card {
  return textCard(
    'good',
    `Thank you, rated ${as === 'good' ? '👍' : '👎'}`,
    'Press the other button to change it, or the same one to remove it.',
    keptText(feedback, isPrivate),
  );
}

function keptText({ keepsTexts, days }: Call['feedback'], isPrivate: boolean): string {
  const isAlone = isPrivate || !keepsTexts;
  return `${isAlone ? 'Only the rating is' : 'The rating, the question, the answer and its look-ups are'} kept for ${counted(days, 'day')}, for your Askwatch admin.`;
}

/** What was wrong with an answer, which is rated as bad by that. */
export const explain = command({
  name: 'answer explain',
  summary: 'Say what was wrong with an answer',
  right: 'anyone',
  input: z.object({
    ...answerInput,
    reason: z
      .enum(['wrong', 'out of date', 'not what I asked', 'too long'])
      .optional()
      .describe('Your 👎 is already counted. Say more if you like: what fits best?'),
    what: optionalText(MAX_WHAT, 'In your words, or the right answer'),
    keep: z
      .enum([RATING_ALONE, ALL])
      .optional()
      .describe('What to keep of this private answer; default: only your rating'),
  }),
  form: {
    title: 'What was wrong?',
    send: 'Send',
    carried: ['answer', 'private'],
    inputs: ({ private: isPrivate }) => [
      'reason',
      'what',
      ...(String(isPrivate) === 'true' ? (['keep'] as const) : []),
    ],
    long: ['what'],
    async begin({ thread, carried, ...call }) {
      const { feedback, place, person } = call;
      const { answer = '' } = carried;
      const isPrivate = carried.private === 'true';
      if (!feedback.keepsTexts) throw new CommandError('Only the rating is kept here.');
      const kept = await feedback.get(answer);
      const isSeen = isSeenIn(kept, placeKey(place), person.id);
      if (!isSeen && !(await ratedIn({ answer, private: isPrivate }, thread, call))) {
        throw new CommandError(NOT_REMEMBERED);
      }
      return {};
    },
  },
  async run({ reason, what, keep, ...about }, call) {
    const { feedback, invocation, place, person } = call;
    const kept = await feedback.get(about.answer);
    if (!isSeenIn(kept, placeKey(place), person.id)) throw new CommandError(NOT_REMEMBERED);
    const { thread } = kept ?? {};
    const isAlone = thread === undefined && keep !== ALL;
    const rated = await ratedIn({ ...about, private: thread === undefined }, thread, call);
    const by = {
      ...{ person: person.id, place: placeKey(place), thread },
      invocation: invocation.id,
    };
    const words = isAlone ? {} : { ...(reason && { reason }), ...(what && { what }) };
    const isKept = await feedback.explain(
      about.answer,
      words,
      by,
      isAlone ? wordless(rated) : rated,
    );
    if (!isKept) throw new CommandError(NOT_REMEMBERED);
    if (isAlone) {
      return toAsker(
        textCard('good', 'Thank you, rated 👎', 'Only the rating is kept, not what you wrote.'),
      );
    }
    if (keep === ALL && !rated) {
      return toAsker(
        textCard(
          'warning',
          'Only what you wrote is kept',
          'The private answer is gone: private answers are never stored, and forgotten after an hour.',
        ),
      );
    }
    return toAsker(textCard('good', 'Your comment is saved, thank you'));
  },
});
