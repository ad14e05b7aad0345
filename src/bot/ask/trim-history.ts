import type { ChatMessage } from '../../contracts/gateway.ts';
import { estimatePromptTokens } from '../../contracts/tokens.ts';
import type { Turn } from './conversations.ts';

/** Context assumed for a model that does not say its own: the smallest in the contract's catalog. */
const ASSUMED_CONTEXT_TOKENS = 4096;

/** Tokens kept free for the reply: a quarter of the context, and no more than a long answer takes. */
const MAX_REPLY_TOKENS = 4096;

/**
 * The prompt of a question: system prompt, the newest turns that fit, the question. `undefined` when the question alone
 * does not fit beside a reply. Turns are kept from the newest back without a gap, so that what is left makes sense. Pure.
 */
export function trim(options: {
  system: string;
  turns: readonly Turn[];
  question: string;
  contextTokens: number | undefined;
}): ChatMessage[] | undefined {
  const context = options.contextTokens ?? ASSUMED_CONTEXT_TOKENS;
  const system: ChatMessage = { role: 'system', content: options.system };
  const question: ChatMessage = { role: 'user', content: options.question };
  let left =
    context -
    Math.min(Math.ceil(context / 4), MAX_REPLY_TOKENS) -
    estimatePromptTokens([system, question]);
  if (left < 0) return undefined;
  const history: ChatMessage[] = [];
  for (const turn of [...options.turns].reverse()) {
    const pair: ChatMessage[] = [
      { role: 'user', content: turn.question },
      { role: 'assistant', content: turn.answer },
    ];
    left -= estimatePromptTokens(pair);
    if (left < 0) break;
    history.unshift(...pair);
  }
  return [system, ...history, question];
}
