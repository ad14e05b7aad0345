import { z } from 'zod';
import { thumbs } from '../ask/answer-buttons.ts';
import { conversationKey } from '../ask/conversations.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';
import { explain, rate } from './answer-feedback.ts';
import { type Call, type Command, command, type Once, requiredText } from './command.ts';

const input = z.object({
  answer: requiredText(40, 'The answer above the button'),
});

/** What a button under an answer does. Whoever sees the answer may press it. */
const button = (declaration: Omit<Command<typeof input>, 'right' | 'input'>) =>
  command({ ...declaration, right: 'anyone', input });

const DAY_MS = 86_400_000;

/** Said when the button under an answer that reached its model's limit is pressed. */
const GO_ON = 'Continue exactly where you stopped.';

/** Everybody who sees an answer grow may stop it. */
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

/** An answer is made anew once, or goes on once. */
const once = ({ answer }: { answer: string }): Once => ({
  key: `answer ${answer}`,
  keepMs: DAY_MS,
  shown: 'The result is below this answer.',
});

/** The last question of the thread that a button was pressed in; throws `refusal` when this is not its answer. */
async function lastAsked(
  answer: string,
  { ask, conversations, invocation: { place, thread } }: Call,
  refusal: string,
) {
  if (thread === undefined) throw new CommandError(refusal);
  const asked = await conversations.lastAsked(conversationKey(place, thread));
  // One that could not be answered anew is still asked for by the answer that it was to replace.
  const isAbout = asked?.id === answer || asked?.instead === answer;
  if (asked?.id === undefined || !isAbout) throw new CommandError(refusal);
  if (ask.isAnswering(place, thread)) {
    throw new CommandError(`A later question is being answered in this thread. ${refusal}`);
  }
  return { ...asked, id: asked.id };
}

/** Another answer to the same question, in place of the first in what the thread remembers. */
const again = button({
  name: 'answer again',
  summary: 'Regenerate the last answer in a thread',
  once,
  async run({ answer }, call) {
    const { ask, handling, place, person, invocation } = call;
    const {
      id,
      asked,
      instead = id,
    } = await lastAsked(
      answer,
      call,
      'Only the last answer in a thread can be regenerated. Ask the question again.',
    );
    const earlier = { note: 'Answered again below.', actions: [] };
    const { around } = invocation;
    return ask.answer({ ...asked, handling, place, person, around, instead, last: id, earlier });
  },
});

/** The rest of an answer that reached the longest that its model gives. */
const goOn = button({
  name: 'answer continue',
  summary: 'Continue an answer where it stopped',
  once,
  async run({ answer }, call) {
    const { ask, handling, place, person, invocation } = call;
    const { id, asked } = await lastAsked(
      answer,
      call,
      'Only the last answer in a thread can be continued. Ask for what is missing.',
    );
    const earlier = { note: 'Continued below.', actions: thumbs(answer) };
    const { around } = invocation;
    const more = { question: GO_ON, model: asked.model };
    return ask.answer({ ...more, handling, place, person, around, last: id, earlier });
  },
});

/** Shows everyone what only one person saw. */
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

/** What buttons under answers can do; nobody types these. */
export const answerActions = [stop, again, goOn, rate, explain, share];
