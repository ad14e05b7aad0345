import { setTimeout as pause } from 'node:timers/promises';
import type { CardAction } from '../shared/card.ts';
import type { AnswerPart } from '../shared/invocation.ts';

/** An answer as it should look now. */
export interface LiveView {
  /** The text so far in pieces; only the last one, and those after it, differ from an earlier view. */
  messages: string[];
  /** Present in the last view of an answer that ended. */
  end?: { note?: string | undefined; footer: string } | undefined;
  /** Buttons under the last message as it is now. */
  actions?: CardAction[] | undefined;
}

/** A growing answer as it is now. */
export interface GrowingAnswer extends Omit<LiveView, 'messages'> {
  /** All of the text so far, hostile until rendered. */
  text: string;
  /** Nothing comes after this. */
  ended: boolean;
}

/** Resolves when an answer may be shown as it is by then; `ended` aborts when there is its end to be shown. */
export type Turn = (ended: AbortSignal) => Promise<void>;

/**
 * Shows an answer while it is generated: one `show` at a time, the newest text wins, the first text at once. Each view but
 * the last waits for its `turn`. The last view is always shown, and what its show throws is thrown.
 *
 * A failed show of a view that is not the last is handed to `onShowError`, and the answer goes on: the next turn shows the
 * same text or more. Should the parts themselves throw, the text so far is shown and then the error thrown. Once the answer
 * is another process's, nothing more is shown, and it ends without its last view.
 */
export async function followAnswer(
  parts: AsyncIterable<AnswerPart>,
  options: {
    /** Waited for before each view but the last; see `everyMs`. */
    turn: Turn;
    /** Buttons while the answer is generated. */
    actions?: CardAction[] | undefined;
    show(view: GrowingAnswer): Promise<void>;
    onShowError?(error: unknown): void;
    /** Aborts when nobody could read it any more; then only the last view is shown. */
    gone: AbortSignal;
    /** See `Answer.isOurs`. */
    isOurs(): boolean;
  },
): Promise<void> {
  const { turn, actions: meanwhile, show, onShowError, gone, isOurs } = options;
  const ended = new AbortController();
  let text = '';
  let shownText = '';
  let last: Pick<LiveView, 'end' | 'actions'> = {};
  let finished = false;
  let isLost = false;
  let failure: { error: unknown } | undefined;
  let wake = () => {};

  async function read() {
    try {
      for await (const part of parts) {
        if (part.kind === 'text') text += part.text;
        else if (part.kind === 'lost') isLost = true;
        else {
          const { note, footer, actions } = part;
          last = { end: { note, footer }, actions };
        }
        wake();
      }
    } catch (error) {
      failure = { error };
    }
    finished = true;
    ended.abort();
    wake();
  }

  const reading = read();
  for (;;) {
    // White space alone is nothing to show yet.
    while (!finished && (gone.aborted || text === shownText || text.trim() === '')) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    await turn(ended.signal);
    if (finished || !isOurs()) break;
    shownText = text;
    try {
      await show({ text, ended: false, actions: meanwhile });
    } catch (error) {
      // Tried again, with whatever came meanwhile.
      shownText = '';
      onShowError?.(error);
    }
  }
  await reading;
  if (isLost || !isOurs()) return;
  await show({ text, ended: true, ...last });
  if (failure) throw failure.error;
}

/** Turns at least so far apart, of an answer that shares its pace with no other; the end waits for one as well. */
export function everyMs(intervalMs: () => number): Turn {
  let nextMs = performance.now();
  return async () => {
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    nextMs = performance.now() + intervalMs();
  };
}
