import { createHash } from 'node:crypto';
import { type APIMessage, ComponentType } from 'discord.js';
import { type Card, encodeAction } from '../../bot/shared/card.ts';
import type { Answer } from '../../bot/shared/invocation.ts';
import { renderMessage } from '../render/render.ts';
import type { AnswerTarget } from './answer-target.ts';

/**
 * Posts cards below an answer, each once, and gives the message of each; none once another process posts them. One that is
 * there from another process stays as it is. Throws what the calls throw.
 */
export function createAnswerCards(target: AnswerTarget, { id, shownBefore, isOurs }: Answer) {
  /** The message of a card that another process has posted. */
  async function earlier(card: Card) {
    if (!shownBefore) return undefined;
    const isIt = (message: APIMessage) => hasButtonOf(message, card);
    return (await target.find?.(isIt, shownBefore.beganAtMs))?.[0];
  }

  return async (card: Card): Promise<string | undefined> => {
    const there = await earlier(card);
    if (there !== undefined || !isOurs()) return there;
    return await target.sendCard(renderMessage(card), cardNonce(id, card));
  };
}

/**
 * What Discord tells a card below an answer by. Its place among them would not do: another process shows once more only
 * those that nobody has decided about. At most 25 characters.
 */
function cardNonce(answer: string, { actions, ...text }: Card): string {
  const seed = JSON.stringify([answer, actions ?? text]);
  return createHash('sha256').update(seed).digest('base64url').slice(0, 25);
}

/** Whether it has a button of the card. */
function hasButtonOf({ components = [] }: APIMessage, { actions = [] }: Card): boolean {
  const ids = actions.map(encodeAction);
  return components.some(
    (row) =>
      row.type === ComponentType.ActionRow &&
      row.components.some((button) => 'custom_id' in button && ids.includes(button.custom_id)),
  );
}
