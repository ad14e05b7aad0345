import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Card, CardAction } from '../shared/card.ts';
import {
  type AnswerDocument,
  type AnswerPart,
  type AnswerStep,
  withStep,
} from '../shared/invocation.ts';

/** A look-up is shown if no text comes for this long: most end before anyone could read of them. */
const STEP_SHOWN_AFTER_MS = 400;

/** An answer as it should look now. */
export interface LiveView {
  /** The text so far in pieces. Only the last one of an earlier view changes; others are added after it. */
  messages: string[];
  /** Look-ups so far, to be shown at its end. */
  steps?: readonly AnswerStep[];
  /** The current look-up: `Looking up all monitors…`. */
  progress?: string;
  /** Present in the last view of an answer that ended. */
  end?: { note?: string; footer: string };
  /** Separate messages below the end; only in the last view. */
  cards?: readonly Card[];
  /** A file above the cards; only in the last view. */
  document?: AnswerDocument;
  /** Under the last message. */
  actions?: CardAction[];
}

export interface GrowingAnswer extends Omit<LiveView, 'messages'> {
  /** Hostile until rendered. */
  text: string;
  /** True for the last view. */
  ended: boolean;
}

/** Resolves when the next view may be shown; `ended` aborts as soon as that is the last one. */
export type ViewTurn = (ended: AbortSignal) => Promise<void>;

/**
 * Shows an answer while it is generated: one `show` at a time, the newest text wins, the first text at once. Each view but
 * the last waits for its `turn`. The last view is always shown, and what its show throws is thrown.
 *
 * If the show of an earlier view fails, `onShowError` gets the error, and the next turn shows the same text or more. If the
 * parts themselves throw, the text so far is shown first.
 */
export async function followAnswer(
  parts: AsyncIterable<AnswerPart>,
  options: {
    /** Awaited before each view; see `everyMs`. */
    turn: ViewTurn;
    /** Buttons until the last view. */
    actions?: CardAction[];
    show(view: GrowingAnswer): Promise<void>;
    onShowError?(error: unknown): void;
    /** Aborts when nobody can read the answer any more; then only the last view is shown. */
    gone: AbortSignal;
  },
): Promise<void> {
  const { turn, actions: growingActions, show, onShowError, gone } = options;
  const ended = new AbortController();
  let text = '';
  let steps: AnswerStep[] = [];
  let progress: { words: string; fromMs: number } | undefined;
  let shown: { text: string; words?: string } = { text };
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

  /** The current look-up, once it is to be shown. */
  const wordsNow = () =>
    progress && progress.fromMs <= performance.now() + 1 ? progress.words : undefined;

  /** White space alone isn't shown. */
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
          last = { end: { note, footer }, actions, cards, document };
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
        actions: growingActions,
        progress: words,
      });
    } catch (error) {
      // Shown again with the next view.
      shown = { text: '' };
      onShowError?.(error);
    }
  }
  await reading;
  await show({ text, ended: true, steps: steps.length > 0 ? steps : undefined, ...last });
  if (failure) throw failure.error;
}

/** Turns with a minimum distance, for an answer that shares its pace with no other. The last view waits, too. */
export function everyMs(intervalMs: () => number): ViewTurn {
  let nextMs = performance.now();
  return async () => {
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    nextMs = performance.now() + intervalMs();
  };
}

/** A platform's calls for the messages of one answer. They throw the platform's errors. */
export interface ScreenCalls<M> {
  /** Posts a message and returns its id. No two messages of an answer have the same `key`; a repeated try has the same. */
  post(message: M, key: string): Promise<string>;
  /** Resolves to false if a new message is faster than an edit. */
  edit(id: string, message: M): Promise<boolean>;
  /** `last` is the last message that stays. */
  remove(id: string, last: string | undefined): Promise<void>;
}

/** A message of an answer; without `message` it shows something else than it should. */
export interface ShownPart<M> {
  id: string;
  message?: M;
}

/** The messages of one answer, which are edited, posted and removed until the platform shows the wanted ones. */
export class Screen<M> {
  private readonly calls: ScreenCalls<M>;
  private readonly shown: ShownPart<M>[];
  private removed = 0;

  constructor(calls: ScreenCalls<M>, shown: readonly ShownPart<M>[] = []) {
    this.calls = calls;
    this.shown = shown.map((part) => ({ ...part }));
  }

  /**
   * Shows these messages; the first `settled` ones are left out, because they stay as they are. Throws the error of a failed
   * call; the next `show` continues from there.
   *
   * If a message can't be edited in time, it is posted again with everything below it, and then removed.
   */
  async show(wanted: readonly M[], settled = 0): Promise<void> {
    const replaced: string[] = [];
    for (const [at, message] of wanted.entries()) {
      const index = settled + at;
      const part = this.shown[index];
      if (!part) {
        this.shown[index] = { id: await this.post(index, message), message };
        continue;
      }
      const isSame = isDeepStrictEqual(part.message, message);
      const stays = replaced.length === 0 && (isSame || (await this.calls.edit(part.id, message)));
      if (!stays) {
        this.removed += 1;
        const id = await this.post(index, message);
        replaced.push(part.id);
        part.id = id;
      }
      part.message = message;
    }
    const count = settled + wanted.length;
    for (
      let last = this.shown.at(-1);
      last && this.shown.length > count;
      last = this.shown.at(-1)
    ) {
      this.shown.pop();
      this.removed += 1;
      await this.calls.remove(last.id, this.shown.at(-1)?.id);
    }
    const last = this.shown.at(-1)?.id;
    await Promise.all(replaced.map((id) => this.calls.remove(id, last)));
  }

  private post(index: number, message: M): Promise<string> {
    const key = this.removed === 0 ? `${index}` : `${index}-${this.removed}`;
    return this.calls.post(message, key);
  }
}
