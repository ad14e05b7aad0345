import { followAnswer, type GrowingAnswer, type ViewTurn } from '../../bot/ask/live-answer.ts';
import { splitMarkdown } from '../../bot/ask/split-markdown.ts';
import type { Card } from '../../bot/shared/card.ts';
import {
  type Answer,
  type AnswerDocument,
  type AnswerStep,
  withStep,
} from '../../bot/shared/invocation.ts';
import { explainFailure, readFailure } from '../api/call-failure.ts';
import type { Documents } from '../api/documents.ts';
import type { Messages } from '../api/messages.ts';
import { type Content, context, renderButtons } from '../render/blocks.ts';
import {
  ANSWER_LIMIT,
  renderAnswer,
  renderNote,
  renderQuestion,
  renderThinking,
} from '../render/render-answer.ts';
import type { AgentSession } from './agent.ts';
import type { ShowCard } from './charts.ts';
import { EditedAnswer } from './edited-answer.ts';
import { withEnd } from './end-answer.ts';
import type { ShowEphemeral } from './ephemeral.ts';
import { cardId, streamNoteOf } from './shown-messages.ts';
import { createStreamedAnswer, type StreamShowing } from './streamed-answer.ts';
import type { UserInput } from './user-input.ts';

/** Longest private message: a markdown block holds 12,000. Source: Slack docs, "Markdown block". */
const PRIVATE_LIMIT = 9_000;

export interface AnswerShowing extends Omit<ThisShowing, 'onLeft'> {
  /** Tracks work after the answer's end. */
  hold(turn: Promise<void>): void;
}

interface ThisShowing extends StreamShowing {
  documents: Documents;
  showCard: ShowCard;
}

interface AnswerThread {
  channel: string;
  thread: string;
  newest: string;
}

/**
 * Shows an answer where it was asked: in the thread, or for a slash command in a new thread under the question, which is posted
 * first. In direct conversations it is streamed if Slack accepts the app as an agent.
 *
 * Resolves when the end of the answer and its cards are shown. Throws Slack's error if a message can't be shown.
 */
export async function showAnswer(
  answer: Answer,
  input: UserInput,
  { hold, ...given }: AnswerShowing,
): Promise<void> {
  const { thread } = input.invocation;
  await answer.begin({ thread });
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
    const { kind } = readFailure(error);
    answer.notShown?.();
    // Without a refusal it may still be shown one day: the next start sees to it.
    if (kind === 'refused') await answer.ended();
    throw error;
  }
}

async function showAt(place: AnswerThread, answer: Answer, input: UserInput, showing: ThisShowing) {
  const { channel, thread } = place;
  const { question } = answer;
  // Only direct conversations: elsewhere a stream is seen by one person until it ends (agentconnect-md/agentconnect issue 1494).
  const session = channel.startsWith('D')
    ? await showing.agent.begin({ channel, thread, question })
    : undefined;
  try {
    if (session) await streamAnswer(answer, input, place, showing, session);
    else await editAnswer(answer, input, place, showing);
  } finally {
    await session?.end();
  }
}

/** Removes the buttons of the answer above. Never throws: buttons that stay are refused when someone presses them. */
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
    log.info({ reason: code, channel }, 'could not remove the buttons of an earlier answer');
  }
}

async function showQuestion(
  answer: Answer,
  input: UserInput,
  messages: Messages,
): Promise<AnswerThread> {
  const { channel, ts: asked } = input;
  const { id, person, thread } = input.invocation;
  if (thread !== undefined && asked !== undefined) return { channel, thread, newest: asked };
  const question = renderQuestion(person.name, answer.question);
  const under = { channel, thread };
  const ts = await messages.post(under, question, `${id}/question`);
  return { channel, thread: thread ?? ts, newest: ts };
}

/**
 * Shows that an answer begins, and lets that message grow. In a crowd there is none at first: what is posted for so many
 * could not be changed again in time.
 */
async function editAnswer(
  answer: Answer,
  input: UserInput,
  place: AnswerThread,
  showing: ThisShowing,
) {
  const { messages, edits } = showing;
  const { channel, thread } = place;
  const { id } = input.invocation;
  const over = edits.begin();
  try {
    const first = renderThinking(answer.actions);
    const shown = edits.isCrowded()
      ? []
      : [{ id: await messages.post({ channel, thread }, first, `${id}/0`), message: first }];
    const edit = new EditedAnswer(showing, { to: { channel, thread }, id, shown });
    await follow(answer, input, place, showing, {
      turn: (ended) => edit.turn(ended),
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
  place: AnswerThread,
  showing: ThisShowing,
  session: AgentSession,
) {
  const { channel, thread, newest } = place;
  const { id, person } = input.invocation;
  const pages: string[] = [];
  const note = () => answer.begin({ thread, shown: streamNoteOf(newest, pages) });
  await note();
  const streamed = createStreamedAnswer(showing, {
    target: { channel, thread, person: person.id, after: newest },
    id,
    async onBegun(page) {
      pages.push(page);
      await note();
    },
  });
  await follow(answer, input, place, showing, {
    turn: streamed.turn,
    async show(view) {
      // A stream begins with text; until then only the status says something.
      if (view.progress !== undefined && view.text.trim() === '') session.tell(view.progress);
      await streamed.show(view);
    },
  });
}

/** Shows the growing answer, then its document and cards. The answer ends early if nobody can read it any more. */
async function follow(
  answer: Answer,
  { invocation }: UserInput,
  { channel, thread }: AnswerThread,
  { messages, documents, showCard, log }: ThisShowing,
  how: { turn: ViewTurn; show(view: GrowingAnswer): Promise<void> },
): Promise<void> {
  const gone = new AbortController();

  /** In a channel where the bot may not post, a note is useless. */
  function onRefused(error: unknown) {
    if (readFailure(error).kind !== 'refused') throw error;
  }

  /** If Slack refuses the file, a note says so and what to do. */
  async function shareDocument(document: AnswerDocument) {
    const id = cardId(invocation.id, 'document');
    try {
      await documents.share({ channel, thread }, document, id);
    } catch (error) {
      const { code } = readFailure(error);
      log.warn({ reason: code, channel }, 'could not share the document of an answer');
      const note = `The file ${document.name} could not be attached. ${explainFailure(error)}`;
      await messages.post({ channel, thread }, renderNote(note), id).catch(onRefused);
    }
  }

  await followAnswer(answer.stream(thread, gone.signal), {
    turn: how.turn,
    async show(view) {
      await how.show(view);
      if (view.document) await shareDocument(view.document);
      await showCards(view.cards, { channel, showCard, log }, async (content, key) => {
        await messages.post({ channel, thread }, content, cardId(invocation.id, key));
      });
    },
    actions: answer.actions,
    gone: gone.signal,
    onShowError(error) {
      const { kind, code } = readFailure(error);
      log.warn({ reason: code, channel }, 'could not show part of an answer');
      // The message or the channel is gone: nobody would read the rest.
      if (kind === 'refused') gone.abort();
    },
  });
}

/** Shows the cards below an answer in order. A card that Slack refuses is left out; throws other errors of Slack. */
async function showCards(
  cards: readonly Card[] = [],
  { channel, showCard, log }: Pick<ThisShowing, 'showCard' | 'log'> & { channel: string },
  send: (content: Content, key: string) => Promise<void>,
): Promise<void> {
  for (const [index, card] of cards.entries()) {
    try {
      await showCard(card, (content) => send(content, String(index)));
    } catch (error) {
      const { kind, code } = readFailure(error);
      if (kind !== 'refused') throw error;
      log.warn({ reason: code, channel }, 'could not show a card below an answer');
    }
  }
}

/** Shows an answer and its cards to the asker only, once it is complete: such messages can't be edited. */
export async function showEphemeralAnswer(
  answer: Answer,
  { channel }: UserInput,
  { showCard, log }: Pick<AnswerShowing, 'showCard' | 'log'>,
  showEphemeral: ShowEphemeral,
): Promise<void> {
  await answer.begin({});
  await showEphemeral(renderNote('Thinking… Only you will see the answer.'));
  let text = '';
  let steps: AnswerStep[] = [];
  for await (const part of answer.stream(undefined)) {
    if (part.kind === 'text') {
      text += part.text;
      continue;
    }
    if (part.kind === 'step') {
      steps = withStep(steps, part.step);
      continue;
    }
    const { footer, note, actions, cards } = part;
    const messages = splitMarkdown(text, PRIVATE_LIMIT);
    const view = { messages, steps, end: { footer, note }, actions };
    for (const content of renderAnswer(view)) await showEphemeral(content);
    await showCards(cards, { channel, showCard, log }, showEphemeral);
  }
  await answer.ended();
}
