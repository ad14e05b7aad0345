import type { GatewayClient } from '../../clients/gateway.ts';
import type { ChatMessage, Model } from '../../contracts/gateway.ts';
import { estimatePromptTokens } from '../../contracts/tokens.ts';
import { CommandError } from '../shared/errors.ts';
import type { AnswerRun } from './answer-run.ts';
import type { Turn } from './conversations.ts';

const MAX_ANSWER_CHARACTERS = 100_000;

/** What a model is asked, with what was said before. */
interface Prompt {
  system: string;
  turns: readonly Turn[];
  question: string;
}

/** A whole answer. */
export interface Generated {
  text: string;
  /** The model would have gone on. */
  isCutOff: boolean;
}

/** Yields the text of an answer as it comes; returns it when it is whole, and throws when it is not. */
export async function* generate(
  prompt: Prompt,
  { model, gateway, run }: { model: Model; gateway: GatewayClient; run: AnswerRun },
): AsyncGenerator<string, Generated> {
  run.began(model);
  const messages = trim(prompt, model.context_length);
  if (!messages) {
    throw new CommandError(
      `This question is too long for ${model.id}. Shorten it, or choose a model with a larger context: /askwatch models.`,
    );
  }
  let answer = '';
  let finish: string | undefined;
  run.waits();
  for await (const chunk of gateway.stream(
    { model: model.id, messages, stream: true, stream_options: { include_usage: true } },
    { signal: run.signal },
  )) {
    if (chunk.usage) run.used(chunk.usage);
    const choice = chunk.choices.find(({ index }) => index === 0);
    finish = choice?.finish_reason ?? finish;
    const text = choice?.delta.content ?? '';
    if (text === '') continue;
    const shown = text.slice(0, MAX_ANSWER_CHARACTERS - answer.length);
    answer += shown;
    run.shows();
    if (shown !== '') yield shown;
    if (shown.length < text.length) {
      run.cut('The answer is longer than Askwatch shows, so it ends here. Ask for less at a time.');
    }
    run.signal.throwIfAborted();
    run.waits();
  }
  run.shows();
  run.signal.throwIfAborted();
  if (answer.trim() === '') {
    throw new CommandError(`${model.id} sent an empty answer. Ask again in other words.`);
  }
  return { text: answer, isCutOff: finish === 'length' };
}

/** Context assumed for a model that does not say its own: the smallest in the contract's catalog. */
const ASSUMED_CONTEXT_TOKENS = 4096;

/** Tokens kept free for the reply: a quarter of the context, and no more than a long answer takes. */
const MAX_REPLY_TOKENS = 4096;

/**
 * The prompt of a question: system prompt, the newest turns that fit, the question. `undefined` when the question alone
 * does not fit beside a reply. Turns are kept from the newest back without a gap, so that what is left makes sense. Pure.
 */
export function trim(prompt: Prompt, context = ASSUMED_CONTEXT_TOKENS): ChatMessage[] | undefined {
  const system: ChatMessage = { role: 'system', content: prompt.system };
  const question: ChatMessage = { role: 'user', content: prompt.question };
  let left =
    context -
    Math.min(Math.ceil(context / 4), MAX_REPLY_TOKENS) -
    estimatePromptTokens([system, question]);
  if (left < 0) return undefined;
  const history: ChatMessage[] = [];
  for (const turn of [...prompt.turns].reverse()) {
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
