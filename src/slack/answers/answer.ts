import { followAnswer, type GrowingAnswer, type Turn } from '../../bot/ask/live-answer.ts';
import { splitMarkdown } from '../../bot/ask/split-markdown.ts';
import type { Answer } from '../../bot/shared/invocation.ts';
import { readFailure } from '../api/call-failure.ts';
import type { Messages } from '../api/messages.ts';
import { type Content, context, renderButtons } from '../render/blocks.ts';
import {
  ANSWER_LIMIT,
  renderAnswer,
  renderNote,
  renderQuestion,
  renderThinking,
} from '../render/render-answer.ts';
import { createEditedAnswer } from './edited-answer.ts';
import { withEnd } from './end-answer.ts';
import { createStreamedAnswer, type StreamShowing } from './streamed-answer.ts';
import type { UserInput } from './user-input.ts';

/** Longest private message: a markdown block holds 12,000. Source: Slack docs, "Markdown block". */
const PRIVATE_LIMIT = 9_000;

/** Shows something to the person who asked, and to nobody else. */
export type ShowEphemeral = (content: Content) => Promise<void>;

/** What answers are shown with. */
export interface AnswerShowing extends Omit<StreamShowing, 'onLeft'> {
  /** Counts something as under way besides an answer that is shown. */
  hold(turn: Promise<void>): void;
}

/** Where an answer goes, and the newest message there. */
interface Place {
  channel: string;
  thread: string;
  newest: string;
}

/**
 * Shows an answer where it was asked: in the thread, or for a slash command in a new thread under the question. A question
 * that nobody else saw is shown first. In direct conversations it is streamed, where Slack takes the app for an agent.
 * Resolves when the end of the answer is shown. Throws what Slack answered when a message cannot be shown for good.
 */
export async function showAnswer(
  answer: Answer,
  input: UserInput,
  { hold, ...given }: AnswerShowing,
): Promise<void> {
  const known = input.invocation.thread;
  await answer.begin(known === undefined ? {} : { thread: known });
  let isLeft = false;
  const onLeft = () => {
    isLeft = true;
  };
  const showing = { ...given, onLeft };
  try {
    const place = await showQuestion(answer, input, showing.messages);
    hold(markEarlier(answer, input, showing));
    await showAt(place, answer, input, showing);
    // A message that still seems to go on is the next start's, too.
    if (!isLeft) await answer.ended();
  } catch (error) {
    answer.notShown?.();
    // Without a refusal it may still be shown one day: the next start sees to it.
    if (readFailure(error).kind === 'refused') await answer.ended();
    throw error;
  }
}

async function showAt(place: Place, answer: Answer, input: UserInput, showing: StreamShowing) {
  const { channel, thread } = place;
  const { question, actions = [] } = answer;
  // Only direct conversations: elsewhere a stream is seen by one person until it ends (agentconnect-md/agentconnect issue 1494).
  const session = channel.startsWith('D')
    ? await showing.agent.begin({ channel, thread, question, actions })
    : undefined;
  try {
    if (session) await streamAnswer(answer, input, place, showing);
    else await editAnswer(answer, input, place, showing);
  } finally {
    await session?.end();
  }
}

/** Takes the buttons from the answer where this one was asked for. Never throws: those that stay are refused when pressed. */
async function markEarlier(
  { earlier }: Answer,
  { channel, pressed }: UserInput,
  { messages, log }: StreamShowing,
): Promise<void> {
  if (!earlier || !pressed) return;
  const { note, actions } = earlier;
  const under = [context(note), ...renderButtons(actions)];
  try {
    await messages.update(channel, pressed.ts, withEnd(pressed, under), 'late');
  } catch (error) {
    const { code } = readFailure(error);
    log.info({ reason: code, channel }, 'an earlier answer keeps its buttons');
  }
}

async function showQuestion(answer: Answer, input: UserInput, messages: Messages): Promise<Place> {
  const { channel, ts: asked } = input;
  const { id, person, thread } = input.invocation;
  if (thread !== undefined && asked !== undefined) return { channel, thread, newest: asked };
  const question = renderQuestion(person.name, answer.question);
  const under = { channel, ...(thread === undefined ? {} : { thread }) };
  const ts = await messages.post(under, question, `${id}/question`);
  return { channel, thread: thread ?? ts, newest: ts };
}

/**
 * Shows that an answer begins, and lets that message grow. In a crowd there is none at first: what is posted for so many
 * could not be changed again in time.
 */
async function editAnswer(answer: Answer, input: UserInput, place: Place, showing: StreamShowing) {
  const { messages, edits } = showing;
  const { channel, thread } = place;
  const { id } = input.invocation;
  const over = edits.begin();
  try {
    const first = renderThinking(answer.actions);
    const shown = edits.isCrowded()
      ? []
      : [{ ts: await messages.post({ channel, thread }, first, `${id}/0`), content: first }];
    const edit = createEditedAnswer(showing, { to: { channel, thread }, id, shown });
    await follow(answer, place, showing, {
      turn: edit.turn,
      show: ({ text, ended: _ended, ...view }) =>
        edit.show({ messages: splitMarkdown(text, ANSWER_LIMIT), ...view }),
    });
  } finally {
    over();
  }
}

async function streamAnswer(
  answer: Answer,
  input: UserInput,
  place: Place,
  showing: StreamShowing,
) {
  const { channel, thread, newest } = place;
  const { id, person } = input.invocation;
  await answer.begin({ thread, shown: { after: newest } });
  const streamed = createStreamedAnswer(showing, {
    target: { channel, thread, person: person.id, after: newest },
    id,
    onBegun: (stream) => answer.begin({ thread, shown: { stream, after: newest } }),
  });
  await follow(answer, place, showing, streamed);
}

/** Shows the answer as it grows; should there be nobody to read it, it is ended. */
async function follow(
  answer: Answer,
  { channel, thread }: Place,
  { log }: StreamShowing,
  how: { turn: Turn; show(view: GrowingAnswer): Promise<void> },
): Promise<void> {
  const gone = new AbortController();
  await followAnswer(answer.stream(thread, gone.signal), {
    ...how,
    actions: answer.actions,
    gone: gone.signal,
    onShowError(error) {
      const { kind, code } = readFailure(error);
      log.warn({ reason: code, channel }, 'a part of an answer could not be shown');
      // The message or the channel is gone: nobody would read the rest.
      if (kind === 'refused') gone.abort();
    },
  });
}

/** Shows an answer to the asker only, once it is complete: such messages cannot be changed. */
export async function showEphemeralAnswer(
  answer: Answer,
  showEphemeral: ShowEphemeral,
): Promise<void> {
  await answer.begin({});
  await showEphemeral(renderNote('Thinking… The answer will be shown to you only.'));
  let text = '';
  for await (const part of answer.stream(undefined)) {
    if (part.kind === 'text') {
      text += part.text;
      continue;
    }
    const { footer, note, actions } = part;
    const view = { messages: splitMarkdown(text, PRIVATE_LIMIT), end: { footer, note }, actions };
    for (const content of renderAnswer(view)) await showEphemeral(content);
  }
  await answer.ended();
}
