import type { LiveView, Turn } from '../bot/live-answer.ts';
import type { Content } from './blocks.ts';
import type { EditPace } from './edit-pace.ts';
import type { Destination, Messages } from './messages.ts';
import { renderAnswer } from './render-answer.ts';

/** A message of an answer; without `content` it shows something else than it should. */
export interface AnswerMessage {
  ts: string;
  content?: Content;
}

/** An answer that grows by edits. */
export interface EditedAnswer {
  /** Resolves when it may be edited. */
  turn: Turn;
  /** Throws what Slack answered. */
  show(view: LiveView): Promise<void>;
}

/**
 * An answer as messages that are changed while it grows, of which `shown` are there already. `id` is the answer's own: what
 * is posted is found again by it.
 */
export function createEditedAnswer(options: {
  messages: Messages;
  edits: EditPace;
  to: Destination;
  id: string;
  shown: AnswerMessage[];
}): EditedAnswer {
  const { messages, edits, to, id } = options;
  const shown = [...options.shown];
  /** Messages that show what they will go on showing: rendering all of a long answer each time takes longer than Slack. */
  let settled = 0;
  let next: 'first' | 'more' = 'first';

  async function show(view: LiveView): Promise<void> {
    const kind = view.end ? 'end' : next;
    const contents = renderAnswer({ ...view, messages: view.messages.slice(settled) });
    for (const [index, content] of contents.entries()) {
      const number = settled + index;
      const earlier = shown[number];
      if (!earlier) {
        shown.push({ ts: await messages.post(to, content, `${id}/${number}`), content });
      } else if (JSON.stringify(earlier.content) !== JSON.stringify(content)) {
        await messages.update(to.channel, earlier.ts, content, kind);
        earlier.content = content;
      }
    }
    settled = Math.max(0, view.messages.length - 1);
    next = 'more';
  }

  return { turn: (ended) => edits.turn(next, ended), show };
}
