import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { everyMs, followAnswer, type GrowingAnswer, Screen } from '../../bot/ask/live-answer.ts';
import type { Card } from '../../bot/shared/card.ts';
import type { Answer } from '../../bot/shared/invocation.ts';
import type { Place } from '../../bot/shared/place.ts';
import { isDeleted, isGone, isRefusal, reasonOf, retryAfterMs } from '../api/errors.ts';
import type { MissingPermissions } from '../api/permissions.ts';
import { renderMessage } from '../render/render.ts';
import { messagesOf } from './answer-pages.ts';
import type { AnswerMessage, AnswerTarget } from './answer-target.ts';
import type { MessageConversations } from './conversations.ts';
import type { Deletions } from './deletions.ts';
import { pageNonce } from './end-answer.ts';

/** "Is typing" lasts ten seconds. */
const TYPING_INTERVAL_MS = 8_000;
const RETRY_WAITS_MS = [1_000, 2_000, 4_000, 8_000];
const MAX_RETRY_WAIT_MS = 60_000;

export interface AnswerContext {
  conversations: MessageConversations;
  deletions: Deletions;
  missingPermissions: MissingPermissions;
  editIntervalMs: number;
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
    /** Aborts when the place of the answer is gone. */
    gone?: AbortSignal;
    explain?: (error: unknown) => string;
    onMessage?: (message: string) => Promise<void>;
    onRemove?: (message: string) => void;
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
  const tried = new Set<string>();
  const screen = new Screen<AnswerMessage>({
    async post(message, key) {
      const isRepeated = tried.has(key);
      tried.add(key);
      const id = await target.send(message, pageNonce(answer.id, key));
      await begin(id);
      await onMessage?.(id);
      // Discord returns the message of the earlier try, as it was.
      if (isRepeated) await target.edit(id, message);
      return id;
    },
    async edit(id, message) {
      await target.edit(id, message);
      return true;
    },
    async remove(id, last) {
      onRemove?.(id);
      await begin(last);
      await target.remove(id);
    },
  });
  await begin();
  const stopTyping = keepTyping(target, log, () => controller.abort());
  async function showEnd(view: GrowingAnswer, note: string | undefined) {
    const messages = messagesOf(view, { note });
    try {
      await retryUntilShown(() => screen.show(messages));
    } catch (error) {
      if (!isRefusal(error) || !messages.some(({ files }) => files)) throw error;
      log.warn({ err: error }, 'could not attach the files of an answer');
      const bare = messagesOf(view, { note, unattached: explain(error) });
      await retryUntilShown(() => screen.show(bare));
    }
  }
  async function showCards(cards: readonly Card[]) {
    for (const [index, card] of cards.entries()) {
      const nonce = pageNonce(`cards of ${answer.id}`, `${index}`);
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
        // A look-up may take a while, and the text follows.
        if (view.ended || view.text.trim() !== '') stopTyping();
        const note = outOfTime ? OUT_OF_TIME : undefined;
        if (!view.end) return await screen.show(messagesOf(view));
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

/** A message before the answer, if the question isn't visible otherwise. */
export interface Lead {
  content: string;
  nonce: string;
  /** Never throws. */
  onShown?: () => void;
}

interface Shown {
  target: AnswerTarget;
  place: Place;
  /** The conversation's key. */
  key: string;
  lead?: Lead;
  /** The channel or thread of the messages. If it isn't the key, each message is stored, since only a reply connects them. */
  shownIn: string;
  tell(content: string, error: unknown): Promise<unknown>;
}

/** Shows an answer in its conversation, or reports that it could not be shown. */
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
    // Someone deleted it, so the error is expected.
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

/** Retries for about 15 s, unless Discord refuses permanently. */
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

/** Types until the returned function is called. Calls `onGone` if the channel is gone. */
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
