import type { Logger } from 'pino';
import type { Answer } from '../../bot/shared/invocation.ts';
import type { Place } from '../../bot/shared/place.ts';
import { isDeleted, reasonOf } from '../api/errors.ts';
import type { MissingPermissions } from '../api/permissions.ts';
import type { AnswerTarget } from './answer-target.ts';
import type { Conversations } from './conversations.ts';
import type { Deletions } from './deletions.ts';
import { retryUntilShown, showAnswer } from './show-answer.ts';

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

/** Where an answer that a conversation remembers is shown. */
interface Shown {
  target: AnswerTarget;
  place: Place;
  /** The thread key under which it is remembered. */
  key: string;
  /** Posted first, where the question is not to be seen otherwise. */
  lead?: {
    content: string;
    nonce: string;
    /** Is called when it is there. Never throws. */
    onShown?: () => void;
  };
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
  const explain = (error: unknown) => reasonOf(error, missingPermissions(shownIn));
  try {
    if (lead) {
      const question = { content: lead.content, components: [] };
      await onMessage(await retryUntilShown(() => target.send(question, lead.nonce)));
      lead.onShown?.();
    }
    const shown = { answer, thread: key, target, gone: watch.signal, explain, onMessage };
    await showAnswer({ ...context, ...shown });
  } catch (error) {
    // Somebody wanted it gone, which is no trouble.
    const level = isDeleted(error) ? 'debug' : 'warn';
    log[level]({ err: error, channel: shownIn }, 'an answer could not be shown');
    answer.notShown?.();
    await tell(`The answer could not be shown. ${explain(error)}`, error);
  } finally {
    watch.end();
  }
}
