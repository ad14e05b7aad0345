import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { everyMs, followAnswer, type GrowingAnswer } from '../../bot/ask/live-answer.ts';
import type { Card } from '../../bot/shared/card.ts';
import type { Answer } from '../../bot/shared/invocation.ts';
import type { Place } from '../../bot/shared/place.ts';
import { isDeleted, isGone, isRefusal, reasonOf, retryAfterMs } from '../api/errors.ts';
import type { MissingPermissions } from '../api/permissions.ts';
import { renderMessage } from '../render/render.ts';
import { messagesOf } from './answer-pages.ts';
import type { AnswerMessage, AnswerTarget } from './answer-target.ts';
import type { Conversations } from './conversations.ts';
import type { Deletions } from './deletions.ts';
import { pageNonce } from './end-answer.ts';

/** "Is typing" lasts ten seconds. */
const TYPING_INTERVAL_MS = 8_000;

/** Waits before the last view is tried again. */
const RETRY_WAITS_MS = [1_000, 2_000, 4_000, 8_000];
const MAX_RETRY_WAIT_MS = 60_000;

/** What answers are shown with. */
export interface AnswerContext {
  conversations: Conversations;
  deletions: Deletions;
  missingPermissions: MissingPermissions;
  /** Shortest time between two edits of an answer. */
  editIntervalMs: number;
  /** Encrypts the token of an interaction so that it may be stored with an answer. */
  encryptToken: (token: string, answer: string) => string;
  log: Logger;
}

/**
 * Generates an answer and shows it at its target while it grows. Gives the ids of its messages. Throws when the end
 * could not be shown; an answer nobody can see any more is not generated further.
 */
export async function showAnswer(
  options: Pick<AnswerContext, 'editIntervalMs' | 'encryptToken' | 'log'> & {
    answer: Answer;
    thread: string | undefined;
    target: AnswerTarget;
    /** Aborts when there is nothing left to show it in. */
    gone?: AbortSignal;
    /** Says why Discord did not take something. */
    explain?: (error: unknown) => string;
    /** Called with each message as soon as it is there. */
    onMessage?: (message: string) => Promise<void>;
    /** Called with each message that it takes away, before that. */
    onRemove?: (message: string) => void;
    /** Called with each card below it as soon as that is there. */
    onCard?: (message: string) => Promise<void>;
  },
): Promise<void> {
  const { answer, thread, target, gone, explain = reasonOf } = options;
  const { onMessage, onRemove, onCard, editIntervalMs, encryptToken, log } = options;
  const controller = new AbortController();
  const ends = AbortSignal.any([controller.signal, ...(gone ? [gone] : [])]);
  let outOfTime = false;
  const limit =
    target.untilMs === undefined
      ? undefined
      : setTimeout(() => {
          outOfTime = true;
          controller.abort();
        }, target.untilMs - Date.now());
  const begin = (last?: string) =>
    answer.begin({
      ...(thread !== undefined && { thread }),
      shown: {
        in: target.channel,
        ...(last !== undefined && { message: last }),
        ...(target.token !== undefined && { token: encryptToken(target.token, answer.id) }),
      },
    });
  const screen = createScreen(target, {
    answer: answer.id,
    async onAdd(message) {
      await begin(message);
      await onMessage?.(message);
    },
    async onRemove(message, last) {
      onRemove?.(message);
      await begin(last);
    },
  });
  await begin();
  const stopTyping = keepTyping(target, log, () => controller.abort());
  async function showEnd(view: GrowingAnswer, note: string | undefined) {
    const messages = messagesOf(view, { note });
    try {
      await retryUntilShown(() => screen(messages));
    } catch (error) {
      if (!isRefusal(error) || !messages.some(({ files }) => files)) throw error;
      log.warn({ err: error }, 'could not attach the files of an answer');
      const bare = messagesOf(view, { note, unattached: explain(error) });
      await retryUntilShown(() => screen(bare));
    }
  }
  async function showCards(cards: readonly Card[]) {
    for (const [index, card] of cards.entries()) {
      const nonce = pageNonce(`cards of ${answer.id}`, index);
      try {
        const id = await retryUntilShown(() => target.sendCard(renderMessage(card), nonce));
        await onCard?.(id);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const level = isDeleted(error) ? 'debug' : 'warn';
        log[level]({ err: error }, 'could not show a card below an answer');
      }
    }
  }
  try {
    await followAnswer(answer.stream(thread, ends), {
      turn: everyMs(() => editIntervalMs),
      actions: answer.actions,
      gone: controller.signal,
      async show(view) {
        // What is looked at stands there for a while, and the text is still to come.
        if (view.ended || view.text.trim() !== '') stopTyping();
        const note = outOfTime ? OUT_OF_TIME : undefined;
        if (!view.end) return await screen(messagesOf(view));
        await showEnd(view, note);
        await showCards(view.cards ?? []);
      },
      onShowError(error) {
        const level = isDeleted(error) ? 'debug' : 'warn';
        log[level]({ err: error }, 'could not show part of an answer');
        if (isRefusal(error)) controller.abort();
      },
    });
    await answer.ended();
  } catch (error) {
    // Without a refusal it may still be shown one day: the next start sees to it.
    if (isRefusal(error)) await answer.ended();
    throw error;
  } finally {
    stopTyping();
    clearTimeout(limit);
  }
}

/** Is posted first, where the question is not to be seen otherwise. */
export interface Lead {
  content: string;
  nonce: string;
  /** Is called when it is there. Never throws. */
  onShown?: () => void;
}

/** Where an answer that a conversation remembers is shown. */
interface Shown {
  target: AnswerTarget;
  place: Place;
  /** The thread key under which it is remembered. */
  key: string;
  lead?: Lead;
  /** The channel or thread it is shown in. Where that is not the key, only a reply connects, so every message is noted. */
  shownIn: string;
  /** Reports to whoever asked that the answer could not be shown, and why. */
  tell(content: string, error: unknown): Promise<unknown>;
}

/** Generates an answer and shows it in its conversation, or reports there that it could not be shown. */
export async function showInConversation(
  context: AnswerContext,
  answer: Answer,
  { target, place, key, lead, shownIn, tell }: Shown,
): Promise<void> {
  const { conversations, missingPermissions, deletions, log } = context;
  const watch = deletions.watch(shownIn, place.channel);
  const onMessage = async (id: string) => {
    watch.add(id);
    if (key !== shownIn) await conversations.addInline(shownIn, id, { place, thread: key });
  };
  // A button of a card tells nothing of the conversation, and an alert in a direct conversation looks the same.
  const onCard = async (id: string) => {
    if (key === shownIn && place.channel !== shownIn) return;
    await conversations.addInline(shownIn, id, { place, thread: key });
  };
  const explain = (error: unknown) => reasonOf(error, missingPermissions(shownIn));
  try {
    if (lead) {
      const question = { content: lead.content, components: [] };
      await onMessage(await retryUntilShown(() => target.send(question, lead.nonce)));
      lead.onShown?.();
    }
    const { remove: onRemove } = watch;
    const shown = { answer, thread: key, target, gone: watch.signal, explain };
    await showAnswer({ ...context, ...shown, onMessage, onRemove, onCard });
  } catch (error) {
    // Somebody wanted it gone, which is no trouble.
    const level = isDeleted(error) ? 'debug' : 'warn';
    log[level]({ err: error, channel: shownIn }, 'could not show an answer');
    answer.notShown?.();
    await tell(`Askwatch couldn’t show the answer. ${explain(error)}`, error);
  } finally {
    watch.end();
  }
}

const OUT_OF_TIME =
  'Discord allows edits to this kind of answer for only 15 minutes, so it ends here.';

/** Edits, posts and removes messages of an answer until the target shows the given ones; equal messages are left alone. */
function createScreen(
  target: AnswerTarget,
  options: {
    answer: string;
    /** Called after a message was added. */
    onAdd(message: string): Promise<void>;
    /** Called before a message is removed, with the last message that stays. */
    onRemove(message: string, last: string | undefined): Promise<void>;
  },
) {
  const { answer, onAdd, onRemove } = options;
  const shown: Array<{ id: string; message: AnswerMessage | undefined }> = [];
  /** Messages of which a send failed: it may have gone through, as it was at that time. */
  const uncertain = new Set<number>();
  /** How many were taken away. */
  let removed = 0;

  return async (messages: readonly AnswerMessage[]) => {
    for (const [index, message] of messages.entries()) {
      const there = shown[index];
      if (there && isDeepStrictEqual(there.message, message)) continue;
      if (there) {
        await target.edit(there.id, message);
        there.message = message;
        continue;
      }
      const repeated = uncertain.has(index);
      uncertain.add(index);
      const id = await target.send(message, pageNonce(answer, index, removed));
      shown[index] = { id, message: repeated ? undefined : message };
      await onAdd(id);
      if (!repeated) continue;
      await target.edit(id, message);
      shown[index] = { id, message };
    }
    for (let last = shown.at(-1); last && shown.length > messages.length; last = shown.at(-1)) {
      shown.pop();
      removed += 1;
      uncertain.clear();
      await onRemove(last.id, shown.at(-1)?.id);
      await target.remove(last.id);
    }
  };
}

/** Tries until Discord takes it or refuses it for good, for about a quarter of a minute. */
export async function retryUntilShown<T>(show: () => Promise<T>): Promise<T> {
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

/** Says "is typing" until the function it gives is called; `onGone` is called when there is nowhere to type any more. */
function keepTyping({ typing }: AnswerTarget, log: Logger, onGone: () => void): () => void {
  if (!typing) return () => {};
  const say = () => {
    typing().catch((error: unknown) => {
      log.debug({ err: error }, 'could not show typing');
      if (isGone(error)) onGone();
    });
  };
  say();
  const timer = setInterval(say, TYPING_INTERVAL_MS);
  return () => clearInterval(timer);
}
