import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { everyMs, type LiveView, showLive } from '../bot/live-answer.ts';
import type { Answer } from '../bot/platform.ts';
import { isRefusal, retryAfterMs } from './errors.ts';
import type { AnswerMessage, Outlet } from './outlet.ts';
import { renderButtons } from './render.ts';
import { plain, withoutMentions } from './text.ts';

/** Longest message. Source: Discord docs, "Create Message". */
const MAX_MESSAGE = 2_000;

/** Longest piece of an answer; what is left is for the footer. */
const MAX_PIECE = 1_900;

/** "Is typing" lasts ten seconds. */
const TYPING_INTERVAL_MS = 8_000;

/** Waits before the last view is tried again. */
const RETRY_WAITS_MS = [1_000, 2_000, 4_000, 8_000];
const MAX_RETRY_WAIT_MS = 60_000;

/**
 * Generates an answer and shows it in an outlet while it grows. Gives the ids of its messages. Throws when the end
 * could not be shown; an answer nobody can see any more is not generated further.
 */
export async function showAnswer(options: {
  answer: Answer;
  thread: string | undefined;
  outlet: Outlet;
  editIntervalMs: number;
  log: Logger;
  /** Told of each message as soon as it is there. */
  onMessage?: (message: string) => Promise<void>;
}): Promise<void> {
  const { answer, thread, outlet, editIntervalMs, log, onMessage } = options;
  const controller = new AbortController();
  let outOfTime = false;
  const limit =
    outlet.untilMs === undefined
      ? undefined
      : setTimeout(() => {
          outOfTime = true;
          controller.abort();
        }, outlet.untilMs - Date.now());
  const screen = createScreen(outlet, onMessage);
  const stopTyping = keepTyping(outlet, log);
  try {
    await showLive(answer.stream(thread, controller.signal), {
      limit: MAX_PIECE,
      turn: everyMs(() => editIntervalMs),
      actions: answer.actions,
      show(view) {
        stopTyping();
        const messages = messagesOf(view, outOfTime);
        return view.end ? insist(() => screen(messages)) : screen(messages);
      },
      onShowError(error) {
        log.warn({ err: error }, 'a part of an answer could not be shown');
        if (isRefusal(error)) controller.abort();
      },
    });
  } finally {
    stopTyping();
    clearTimeout(limit);
  }
}

const OUT_OF_TIME =
  'Discord takes changes to this kind of answer for 15 minutes only, so it ends here.';

/** The messages of a view. Buttons are under the last one only. */
function messagesOf(view: LiveView, outOfTime: boolean): AnswerMessage[] {
  const contents = contentsOf(view, outOfTime);
  return contents.map((content, index) => ({
    content,
    components: index === contents.length - 1 ? renderButtons({ actions: view.actions }) : [],
  }));
}

/** The texts of a view; note and footer end the last one, or stand alone where they do not fit. */
function contentsOf({ messages, end }: LiveView, outOfTime: boolean): string[] {
  const contents = messages.map(withoutMentions);
  const note = outOfTime ? OUT_OF_TIME : end?.note;
  const lines = end
    ? [...(note ? [`*${plain(note)}*`] : []), ...(end.footer ? [`-# ${plain(end.footer)}`] : [])]
    : [];
  if (lines.length === 0) return contents;
  const tail = lines.join('\n').slice(0, MAX_MESSAGE);
  const last = contents.at(-1);
  if (last === undefined || last.length + 1 + tail.length > MAX_MESSAGE) return [...contents, tail];
  return [...contents.slice(0, -1), `${last}\n${tail}`];
}

/** Brings the messages of an outlet to the given ones, touching only those that differ. */
function createScreen(outlet: Outlet, onMessage: ((message: string) => Promise<void>) | undefined) {
  const shown: Array<{ id: string; message: AnswerMessage | undefined }> = [];
  /** Messages of which a send failed: it may have gone through, as it was at that time. */
  const uncertain = new Set<number>();
  const seed = randomUUID().slice(0, 18);

  return async (messages: readonly AnswerMessage[]) => {
    for (const [index, message] of messages.entries()) {
      const there = shown[index];
      if (there && isDeepStrictEqual(there.message, message)) continue;
      if (there) {
        await outlet.edit(there.id, message);
        there.message = message;
        continue;
      }
      const repeated = uncertain.has(index);
      uncertain.add(index);
      const id = await outlet.send(message, `${seed}-${index}`);
      shown[index] = { id, message: repeated ? undefined : message };
      await onMessage?.(id);
      if (!repeated) continue;
      await outlet.edit(id, message);
      shown[index] = { id, message };
    }
  };
}

/** Tries until Discord takes it or refuses it for good, for about a quarter of a minute. */
export async function insist<T>(show: () => Promise<T>): Promise<T> {
  for (const waitMs of RETRY_WAITS_MS) {
    try {
      return await show();
    } catch (error) {
      if (isRefusal(error)) throw error;
      await pause(Math.min(MAX_RETRY_WAIT_MS, Math.max(waitMs, retryAfterMs(error) ?? 0)));
    }
  }
  return await show();
}

/** Says "is typing" until the function it gives is called. */
function keepTyping({ typing }: Outlet, log: Logger): () => void {
  if (!typing) return () => {};
  const say = () => {
    typing().catch((error: unknown) => log.debug({ err: error }, 'could not show typing'));
  };
  say();
  const timer = setInterval(say, TYPING_INTERVAL_MS);
  return () => clearInterval(timer);
}
