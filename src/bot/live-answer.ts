import { setTimeout as pause } from 'node:timers/promises';
import type { CardAction } from './card.ts';
import type { AnswerPart } from './platform.ts';
import { splitMarkdown } from './split-markdown.ts';

/** An answer as it should look now. */
export interface LiveView {
  /** The text so far in pieces; only the last one, and those after it, differ from an earlier view. */
  messages: string[];
  /** Present in the last view of an answer that ended. */
  end?: { note?: string; footer: string };
  /** Buttons under the last message as it is now. */
  actions?: CardAction[];
}

/**
 * Shows an answer while it is generated: one `show` at a time, the newest text wins, at least `intervalMs` between the
 * starts of two shows, the first text at once. The last view is always shown, and what its show throws is thrown.
 *
 * A failed show of a view that is not the last is handed to `onShowError`, and the answer goes on: the next view holds
 * the same text and more. Should the parts themselves throw, the text so far is shown and then the error thrown.
 */
export async function showLive(
  parts: AsyncIterable<AnswerPart>,
  options: {
    /** Longest message, UTF-16 units. */
    limit: number;
    intervalMs: number;
    /** Buttons while the answer is generated. */
    actions?: CardAction[] | undefined;
    show(view: LiveView): Promise<void>;
    onShowError?(error: unknown): void;
  },
): Promise<void> {
  const { limit, intervalMs, actions: meanwhile, show, onShowError } = options;
  let text = '';
  let shownText = '';
  let end: LiveView['end'];
  let afterwards: CardAction[] | undefined;
  let finished = false;
  let failure: { error: unknown } | undefined;
  let wake = () => {};

  async function read() {
    try {
      for await (const part of parts) {
        if (part.kind === 'text') text += part.text;
        else {
          end = { footer: part.footer, ...(part.note === undefined ? {} : { note: part.note }) };
          afterwards = part.actions;
        }
        wake();
      }
    } catch (error) {
      failure = { error };
    }
    finished = true;
    wake();
  }

  const reading = read();
  let nextShowMs = performance.now();
  for (;;) {
    while (!finished && text === shownText) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const waitMs = nextShowMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    if (finished) break;
    shownText = text;
    const messages = splitMarkdown(text, limit);
    // White space alone is nothing to show yet.
    if (messages.length === 0) continue;
    nextShowMs = performance.now() + intervalMs;
    try {
      await show({ messages, ...(meanwhile && { actions: meanwhile }) });
    } catch (error) {
      onShowError?.(error);
    }
  }
  await reading;
  await show({
    messages: splitMarkdown(text, limit),
    ...(end && { end }),
    ...(afterwards && { actions: afterwards }),
  });
  if (failure) throw failure.error;
}
