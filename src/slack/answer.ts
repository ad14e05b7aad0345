import type { Logger } from 'pino';
import { type LiveView, showLive } from '../bot/live-answer.ts';
import type { Answer } from '../bot/platform.ts';
import { splitMarkdown } from '../bot/split-markdown.ts';
import type { Content } from './blocks.ts';
import { readFailure } from './call-failure.ts';
import type { EditPace } from './edit-pace.ts';
import type { Said } from './hear.ts';
import type { Destination, Messages } from './messages.ts';
import { ANSWER_LIMIT, renderAnswer, renderNote, renderQuestion } from './render-answer.ts';

/** Longest private message: a markdown block holds 12,000. Source: Slack docs, "Markdown block". */
const PRIVATE_LIMIT = 9_000;

/** Shows something to the person who asked, and to nobody else. */
export type Whisper = (content: Content) => Promise<void>;

/**
 * Shows an answer where it was asked: in the thread, or for a slash command in a new thread under the question. A question
 * that nobody else saw is shown first. Resolves when the end of the answer is shown. Throws what Slack answered when a
 * message cannot be shown for good.
 */
export async function showAnswer(
  answer: Answer,
  said: Said,
  { messages, log, edits }: { messages: Messages; log: Logger; edits: EditPace },
): Promise<void> {
  const { channel } = said;
  const { id, person } = said.invocation;
  let { thread } = said.invocation;
  if (said.unseen || thread === undefined) {
    const question = renderQuestion(person.name, answer.question);
    const under = { channel, ...(thread === undefined ? {} : { thread }) };
    const ts = await messages.post(under, question, `${id}/question`);
    thread ??= ts;
  }
  const to: Destination = { channel, thread };

  const first = renderNote('Thinking…', answer.actions);
  const shown = [{ ts: await messages.post(to, first, `${id}/0`), content: first }];
  const gone = new AbortController();
  let next: 'first' | 'more' = 'first';

  async function show(view: LiveView): Promise<void> {
    const edit = view.end ? 'end' : next;
    for (const [index, content] of renderAnswer(view).entries()) {
      const earlier = shown[index];
      if (!earlier) {
        shown.push({ ts: await messages.post(to, content, `${id}/${index}`), content });
      } else if (JSON.stringify(earlier.content) !== JSON.stringify(content)) {
        await messages.update(channel, earlier.ts, content, edit);
        earlier.content = content;
      }
    }
    next = 'more';
  }

  await showLive(answer.stream(thread, gone.signal), {
    limit: ANSWER_LIMIT,
    turn: (ended) => edits.turn(next, ended),
    actions: answer.actions,
    show,
    onShowError(error) {
      const { kind, code } = readFailure(error);
      log.warn({ reason: code, channel }, 'a part of an answer could not be shown');
      // The message or the channel is gone: nobody would read the rest.
      if (kind === 'refused') gone.abort();
    },
  });
}

/** Shows an answer to the asker only, once it is complete: such messages cannot be changed. */
export async function whisperAnswer(answer: Answer, whisper: Whisper): Promise<void> {
  await whisper(renderNote('Thinking… The answer will be shown to you only.'));
  let text = '';
  for await (const part of answer.stream(undefined)) {
    if (part.kind === 'text') {
      text += part.text;
      continue;
    }
    const { footer, note, actions } = part;
    const end = { footer, ...(note === undefined ? {} : { note }) };
    const view = {
      messages: splitMarkdown(text, PRIVATE_LIMIT),
      end,
      ...(actions && { actions }),
    };
    for (const content of renderAnswer(view)) await whisper(content);
  }
}
