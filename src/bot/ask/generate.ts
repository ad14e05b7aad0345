import type { GatewayClient } from '../../clients/gateway.ts';
import type { Model } from '../../contracts/gateway.ts';
import { CommandError } from '../shared/errors.ts';
import type { AnswerRun } from './answer-run.ts';
import type { Turn } from './conversations.ts';
import { trim } from './trim-history.ts';

const MAX_ANSWER_CHARACTERS = 100_000;

/** A whole answer. */
export interface Generated {
  text: string;
  /** The model would have gone on. */
  isCutOff: boolean;
}

/** Yields the text of an answer as it comes; returns it when it is whole, and throws when it is not. */
export async function* generate(
  {
    model,
    system,
    turns,
    question,
  }: {
    model: Model;
    system: string;
    turns: Turn[];
    question: string;
  },
  { gateway, run }: { gateway: GatewayClient; run: AnswerRun },
): AsyncGenerator<string, Generated> {
  run.began(model);
  const messages = trim({ system, turns, question, contextTokens: model.context_length });
  if (!messages) {
    throw new CommandError(
      `This question is too long for ${model.id}. Shorten it, or choose a model with a larger context: /askwatch models.`,
    );
  }
  const request = { model: model.id, messages, stream: true };
  let answer = '';
  let finish: string | undefined;
  run.waits();
  for await (const chunk of gateway.stream(
    { ...request, stream_options: { include_usage: true } },
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
