import { z } from 'zod';
import { conversationKey } from '../ask/conversations.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';
import { type Call, type Command, command, type Once, requiredText } from './command.ts';

const input = z.object({
  answer: requiredText(40, 'The answer above the button'),
});

/** A button under an answer, for everyone who sees it. */
const button = (declaration: Omit<Command<typeof input>, 'right' | 'input'>) =>
  command({ ...declaration, right: 'anyone', input });

const DAY_MS = 86_400_000;

const CONTINUE = 'Continue exactly where you stopped.';

const stop = button({
  name: 'answer stop',
  summary: 'Stop an answer',
  async run({ answer }, { ask, person }) {
    if (!ask.cut(answer, `Stopped by ${shortened(person.name, 80)}.`)) {
      throw new CommandError('This answer has already ended.');
    }
    return { kind: 'nothing' };
  },
});

/** An answer is either regenerated or continued. */
const once = ({ answer }: { answer: string }): Once => ({
  key: `answer ${answer}`,
  keepMs: DAY_MS,
  shown: 'The result is below this answer.',
});

/** The last question of the thread. Throws `refusal` if `answer` isn't the answer to it. */
async function lastQuestion(
  answer: string,
  { ask, conversations, invocation: { place, thread } }: Call,
  refusal: string,
) {
  if (thread === undefined) throw new CommandError(refusal);
  const last = await conversations.lastAsked(conversationKey(place, thread));
  // After a failed regeneration, the button is still under the answer before.
  const isItsAnswer = last?.id === answer || last?.instead === answer;
  if (last?.id === undefined || !isItsAnswer) throw new CommandError(refusal);
  if (ask.isAnswering(place, thread)) {
    throw new CommandError(`A later question is being answered in this thread. ${refusal}`);
  }
  return { ...last, id: last.id };
}

/** The thread remembers the new answer instead of the first. */
const again = button({
  name: 'answer again',
  summary: 'Regenerate the last answer in a thread',
  once,
  async run({ answer }, call) {
    const { ask, handling, place, person, invocation } = call;
    const last = await lastQuestion(
      answer,
      call,
      'Only the last answer in a thread can be regenerated. Ask the question again.',
    );
    const { id, asked, instead = id } = last;
    const earlier = { note: 'Answered again below.', actions: [] };
    const { around } = invocation;
    return ask.answer({ ...asked, handling, place, person, around, instead, last: id, earlier });
  },
});

/** For an answer that reached its model's maximum length. */
const continueAnswer = button({
  name: 'answer continue',
  summary: 'Continue an answer where it stopped',
  once,
  async run({ answer }, call) {
    const { ask, features, handling, place, person, invocation } = call;
    const { id, asked } = await lastQuestion(
      answer,
      call,
      'Only the last answer in a thread can be continued. Ask for what is missing.',
    );
    const actions = features.all.flatMap(
      (one) => one.buttonsUnder?.(answer, { isPrivate: false }) ?? [],
    );
    const earlier = { note: 'Continued below.', actions };
    const { around } = invocation;
    const more = { question: CONTINUE, model: asked.model };
    return ask.answer({ ...more, handling, place, person, around, last: id, earlier });
  },
});

const share = button({
  name: 'answer share',
  summary: 'Show a private answer to everyone',
  once: ({ answer }) => ({
    key: `share ${answer}`,
    keepMs: DAY_MS,
    shown: 'Everyone can see the answer now.',
  }),
  async run({ answer }, { ask, handling, place, person, invocation: { around } }) {
    const shared = ask.share(answer, { place, person, handling, around });
    if (shared) return shared;
    throw new CommandError('This answer can no longer be shared. Ask again without private.');
  },
});

export const answerActions = [stop, again, continueAnswer, share];
