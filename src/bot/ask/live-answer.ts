import { setTimeout as pause } from 'node:timers/promises';
import type { Card, CardAction } from '../shared/card.ts';
import {
  type AnswerDocument,
  type AnswerPart,
  type AnswerStep,
  withStep,
} from '../shared/invocation.ts';

/** A step is shown when no text has come so long after it began: most are over before anybody could read of them. */
const STEP_SHOWN_AFTER_MS = 400;

/** An answer as it should look now. */
export interface LiveView {
  /** The text so far in pieces; only the last one, and those after it, differ from an earlier view. */
  messages: string[];
  /** What was looked at for it so far, in that order; to be shown at its end. */
  steps?: readonly AnswerStep[] | undefined;
  /** What is looked at just now, in place of the words that say that more comes: `Looking up all monitors…`. */
  progress?: string | undefined;
  /** Present in the last view of an answer that ended. */
  end?: { note?: string | undefined; footer: string } | undefined;
  /** To be shown below the end, each as a message of its own; in the last view only. */
  cards?: readonly Card[] | undefined;
  /** To be shown below the end and above the cards, as a file; in the last view only. */
  document?: AnswerDocument | undefined;
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
 * same text or more. Should the parts themselves throw, the text so far is shown and then the error thrown.
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
  },
): Promise<void> {
  const { turn, actions: meanwhile, show, onShowError, gone } = options;
  const ended = new AbortController();
  let text = '';
  let steps: AnswerStep[] = [];
  let progress: { words: string; fromMs: number } | undefined;
  let shown: { text: string; words?: string | undefined } = { text };
  let last: Pick<LiveView, 'end' | 'actions' | 'cards' | 'document'> = {};
  let finished = false;
  let failure: { error: unknown } | undefined;
  let wake = () => {};

  function take(step: AnswerStep) {
    steps = withStep(steps, step);
    if (step.state !== 'running') return;
    const fromMs = performance.now() + STEP_SHOWN_AFTER_MS;
    progress = { words: `Looking up ${step.what}…`, fromMs };
    setTimeout(() => wake(), STEP_SHOWN_AFTER_MS).unref();
  }

  /** What is looked at, once that is to be shown. */
  const wordsNow = () =>
    progress && progress.fromMs <= performance.now() + 1 ? progress.words : undefined;

  /** White space alone is nothing to show yet. */
  const isNew = () =>
    (text !== shown.text && text.trim() !== '') ||
    (wordsNow() !== undefined && wordsNow() !== shown.words);

  async function read() {
    try {
      for await (const part of parts) {
        if (part.kind === 'text') {
          text += part.text;
          progress = undefined;
        } else if (part.kind === 'step') take(part.step);
        else {
          const { note, footer, actions, cards, document } = part;
          last = {
            end: { note, footer },
            actions,
            ...(cards && { cards }),
            ...(document && { document }),
          };
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
    while (!finished && (gone.aborted || !isNew())) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    await turn(ended.signal);
    if (finished) break;
    const words = wordsNow();
    shown = { text, words };
    try {
      await show({
        text,
        ended: false,
        actions: meanwhile,
        ...(words !== undefined && { progress: words }),
      });
    } catch (error) {
      // Tried again, with whatever came meanwhile.
      shown = { text: '' };
      onShowError?.(error);
    }
  }
  await reading;
  await show({ text, ended: true, ...(steps.length > 0 && { steps }), ...last });
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
