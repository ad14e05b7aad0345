import type { Logger } from 'pino';
import { type LiveView, Screen, type ShownPart } from '../../bot/ask/live-answer.ts';
import { readFailure } from '../api/call-failure.ts';
import type { EditKind, EditPace } from '../api/edit-pace.ts';
import type { Destination, Messages } from '../api/messages.ts';
import { LimitedError } from '../api/send-queue.ts';
import type { Content } from '../render/blocks.ts';
import { renderAnswer, renderNote } from '../render/render-answer.ts';

export interface EditShowing {
  messages: Messages;
  edits: EditPace;
  log: Logger;
  /** Called if a message that seems to be growing could not be removed. */
  onLeft(): void;
}

/** Replaces a message that can neither be deleted nor show the end of the answer. */
const ELSEWHERE = renderNote('The full answer is below.');

/** An answer that grows by edits. Its messages are found again by `id`, the answer's own. */
export class EditedAnswer {
  private readonly edits: EditPace;
  private readonly screen: Screen<Content>;
  private nextEdit: EditKind = 'first';
  /** Messages that no longer change. Rendering them again each time would take longer than Slack. */
  private settled = 0;

  constructor(
    { messages, edits, log, onLeft }: EditShowing,
    answer: { to: Destination; id: string; shown: ShownPart<Content>[] },
  ) {
    const { to, id, shown } = answer;
    const { channel } = to;
    this.edits = edits;
    const calls = {
      post: (content: Content, key: string) => messages.post(to, content, `${id}/${key}`),
      edit: async (ts: string, content: Content) => {
        try {
          await messages.update(channel, ts, content, this.nextEdit);
          return true;
        } catch (error) {
          if (error instanceof LimitedError) return false;
          throw error;
        }
      },
      /** The answer is whole without the message, so an error here is none of the answer's. */
      async remove(ts: string) {
        try {
          await messages.remove(channel, ts, ELSEWHERE);
        } catch (error) {
          const { kind, code } = readFailure(error);
          if (kind !== 'refused') onLeft();
          log.warn(
            { reason: code, channel },
            'could not remove the beginning of an answer that was posted again',
          );
        }
      },
    };
    this.screen = new Screen(calls, shown);
  }

  turn(ended: AbortSignal): Promise<void> {
    return this.edits.turn(this.nextEdit, ended);
  }

  async show(view: LiveView): Promise<void> {
    if (view.end) this.nextEdit = 'end';
    const { settled } = this;
    const contents = renderAnswer({ ...view, messages: view.messages.slice(settled) });
    await this.screen.show(contents, settled);
    this.settled = Math.max(0, view.messages.length - 1);
    if (!view.end) this.nextEdit = 'more';
  }
}
