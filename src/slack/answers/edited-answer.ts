import type { Logger } from 'pino';
import type { LiveView } from '../../bot/ask/live-answer.ts';
import { readFailure } from '../api/call-failure.ts';
import type { EditKind, EditPace } from '../api/edit-pace.ts';
import type { Destination, Messages } from '../api/messages.ts';
import { LimitedError } from '../api/send-queue.ts';
import type { Content } from '../render/blocks.ts';
import { renderAnswer, renderNote } from '../render/render-answer.ts';

/** What an answer is shown with that grows by edits. */
export interface Showing {
  messages: Messages;
  edits: EditPace;
  log: Logger;
  /** Is called when a message that seems to go on could not be removed yet. */
  onLeft(): void;
}

/** A message of an answer; without `content` it shows something else than it should. */
export interface AnswerMessage {
  ts: string;
  content?: Content;
}

/** An answer that grows by edits. */
export type EditedAnswer = ReturnType<typeof createEditedAnswer>;

/** Stands in the place of a message that can neither be deleted nor show the end of the answer. */
const ELSEWHERE = renderNote('The full answer is below.');

/**
 * An answer as messages that are changed while it grows, of which `shown` are there already. `id` is the answer's own: what
 * is posted is found again by it.
 *
 * Where edits have run out, the end is posted: the messages from the first on that would have to be changed are posted anew,
 * and then removed.
 */
export function createEditedAnswer(
  { messages, edits, log, onLeft }: Showing,
  { to, id, ...options }: { to: Destination; id: string; shown: AnswerMessage[] },
) {
  const shown = [...options.shown];
  /** Messages that show what they will go on showing: rendering all of a long answer each time takes longer than Slack. */
  let settled = 0;
  let next: 'first' | 'more' = 'first';

  /** Changes a message; false where that would take too long. */
  async function change(ts: string, content: Content, kind: EditKind): Promise<boolean> {
    try {
      await messages.update(to.channel, ts, content, kind);
      return true;
    } catch (error) {
      if (error instanceof LimitedError) return false;
      throw error;
    }
  }

  /** The answer is whole without it, so nothing that goes wrong here is the answer's. */
  async function remove({ ts }: AnswerMessage): Promise<void> {
    try {
      await messages.remove(to.channel, ts, ELSEWHERE);
    } catch (error) {
      const { kind, code } = readFailure(error);
      if (kind !== 'refused') onLeft();
      log.warn(
        { reason: code, channel: to.channel },
        'could not remove the beginning of an answer that was posted again',
      );
    }
  }

  /** Throws what Slack answered. */
  async function show(view: LiveView): Promise<void> {
    const kind = view.end ? 'end' : next;
    const contents = renderAnswer({ ...view, messages: view.messages.slice(settled) });
    const left: AnswerMessage[] = [];
    for (const [index, content] of contents.entries()) {
      const number = settled + index;
      const earlier = shown[number];
      if (!earlier) {
        shown.push({ ts: await messages.post(to, content, `${id}/${number}`), content });
        continue;
      }
      const isSame = JSON.stringify(earlier.content) === JSON.stringify(content);
      // What stands below one that is posted anew has to follow it.
      const stays = left.length === 0 && (isSame || (await change(earlier.ts, content, kind)));
      if (!stays) {
        const ts = await messages.post(to, content, `${id}/${number}/end`);
        left.push({ ...earlier });
        earlier.ts = ts;
      }
      earlier.content = content;
    }
    settled = Math.max(0, view.messages.length - 1);
    next = 'more';
    await Promise.all(left.map(remove));
  }

  return {
    /** Resolves when it may be edited. */
    turn: (ended: AbortSignal) => edits.turn(next, ended),
    show,
  };
}
