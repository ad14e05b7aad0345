import { z } from 'zod';
import { conversationKey } from '../ask/conversations.ts';
import type { PrivateAnswer } from '../ask/private-answers.ts';
import { type Call, command, optionalText, requiredText } from '../commands/command.ts';
import { type Card, type CardAction, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { toAsker } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import { counted } from '../shared/text-format.ts';
import { type Case, type Feedback, feedbackOf, type RatedAnswer } from './feedback.ts';

const MAX_WHAT = 1_000;

/** Choices for a private answer. */
const RATING_ALONE = 'only my rating';
const ALL = 'the question and the answer, too';

const answerInput = {
  answer: requiredText(40, 'The answer above the button'),
  private: z.boolean().optional().describe('Whether only one person sees it'),
};

const NOT_REMEMBERED =
  'Askwatch no longer remembers this answer, so it cannot be rated. Ask again and rate the new one.';

/** An answer as its thread or its private reader remembers it. */
async function ratedIn(
  { answer, private: isPrivate }: { answer: string; private?: boolean },
  thread: string | undefined,
  call: Pick<Call, 'ask' | 'conversations' | 'features' | 'place' | 'person'>,
): Promise<RatedAnswer | undefined> {
  const { ask, conversations, place, person } = call;
  if (isPrivate) return ratedPrivate(ask.privateAnswer(answer, person.id));
  if (thread === undefined) return undefined;
  const turns = await conversations.turns(conversationKey(place, thread));
  const turn = turns.find(({ id }) => id === answer);
  if (!turn) return undefined;
  const { question, answer: text, atMs, model, generated } = turn;
  const calls = await feedbackOf(call).evidence.of({ place: placeKey(place), thread }, answer);
  const { model: answered = model, times = { wholeAtMs: atMs } } = generated ?? {};
  return { model: answered, times, said: { question, answer: text, calls } };
}

function ratedPrivate(answer: PrivateAnswer | undefined): RatedAnswer | undefined {
  if (!answer) return undefined;
  const { asked, text, generated, calls } = answer;
  return { ...generated, said: { question: asked.question, answer: text, calls: [...calls] } };
}

const wordless = (rated: RatedAnswer | undefined): RatedAnswer | undefined =>
  rated && { model: rated.model, times: rated.times };

/** True if a person in a place sees a rated answer. */
const isSeenIn = (kept: Case | undefined, place: string, person: string) =>
  kept?.place === place && (kept.thread !== undefined || Object.hasOwn(kept.ratings, person));

/** Each person has one rating. A second press of the same button removes it. */
export const rate = command({
  name: 'answer rate',
  summary: 'Rate an answer',
  right: 'anyone',
  input: z.object({ ...answerInput, as: z.enum(['good', 'bad']).describe('good or bad') }),
  async opens({ answer, private: isPrivate, as }, call) {
    if (as !== 'bad') return undefined;
    const { place, person } = call;
    const kept = await feedbackOf(call).get(answer);
    const isRemoval =
      isSeenIn(kept, placeKey(place), person.id) && kept?.ratings[person.id]?.as === 'bad';
    if (isRemoval) return undefined;
    return { form: explain.name, carried: { answer, ...(isPrivate && { private: 'true' }) } };
  },
  async run({ as, ...about }, call) {
    const { invocation, place, person } = call;
    const feedback = feedbackOf(call);
    const thread = about.private ? undefined : invocation.thread;
    const rated = await ratedIn(about, thread, call);
    const by = { person: person.id, place: placeKey(place), thread, invocation: invocation.id };
    const known = about.private ? wordless(rated) : rated;
    const now = await feedback.rate(about.answer, as, by, known);
    if (!now) throw new CommandError(NOT_REMEMBERED);
    if (now === 'none') {
      const text = 'Nothing from you is kept for this answer.';
      return toAsker(textCard('info', 'Rating removed', text));
    }
    return toAsker(thanksCard(now, { feedback, isPrivate: about.private ?? false }));
  },
});

function thanksCard(
  as: 'good' | 'bad',
  { feedback, isPrivate }: { feedback: Feedback; isPrivate: boolean },
): Card {
  return textCard(
    'good',
    `Thank you, rated ${as === 'good' ? '👍' : '👎'}`,
    'Press the other button to change it, or the same one to remove it.',
    keptText(feedback, isPrivate),
  );
}

function keptText({ keepsTexts, days }: Feedback, isPrivate: boolean): string {
  const isAlone = isPrivate || !keepsTexts;
  return `${isAlone ? 'Only the rating is' : 'The rating, the question, the answer and its look-ups are'} kept for ${counted(days, 'day')}, for your Askwatch admin.`;
}

/** Explains a bad rating. */
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
      const { place, person } = call;
      const feedback = feedbackOf(call);
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
    const { invocation, place, person } = call;
    const feedback = feedbackOf(call);
    const kept = await feedback.get(about.answer);
    if (!isSeenIn(kept, placeKey(place), person.id)) throw new CommandError(NOT_REMEMBERED);
    const { thread } = kept ?? {};
    const isAlone = thread === undefined && keep !== ALL;
    const rated = await ratedIn({ ...about, private: thread === undefined }, thread, call);
    const by = { person: person.id, place: placeKey(place), thread, invocation: invocation.id };
    const words = isAlone ? {} : { ...(reason && { reason }), ...(what && { what }) };
    const known = isAlone ? wordless(rated) : rated;
    const isKept = await feedback.explain(about.answer, words, by, known);
    if (!isKept) throw new CommandError(NOT_REMEMBERED);
    if (isAlone) {
      const text = 'Only the rating is kept, not what you wrote.';
      return toAsker(textCard('good', 'Thank you, rated 👎', text));
    }
    if (keep === ALL && !rated) {
      const text =
        'The private answer is gone: private answers are never stored, and forgotten after an hour.';
      return toAsker(textCard('warning', 'Only what you wrote is kept', text));
    }
    return toAsker(textCard('good', 'Your comment is saved, thank you'));
  },
});

/** Rates an answer. */
export const thumbs = (answer: string, { isPrivate }: { isPrivate: boolean }): CardAction[] =>
  (
    [
      ['👍', 'good'],
      ['👎', 'bad'],
    ] as const
  ).map(([label, as]) => ({
    label,
    command: rate.name,
    values: { answer, as, ...(isPrivate && { private: 'true' }) },
  }));
