import { StatusError } from '../../clients/errors.ts';
import type { AnsweringModel, GatewayClient } from '../../clients/gateway.ts';
import {
  type ChatMessage,
  type ChatRequest,
  type Model,
  OFFLINE_PROVIDER,
} from '../../contracts/gateway.ts';
import { CommandError } from '../shared/errors.ts';
import type { AnswerPart, AnswerStep } from '../shared/invocation.ts';
import type { AnswerRun } from './answer-run.ts';
import { createCallReader, sentBack, type ToolCall } from './call-reader.ts';
import { nameOf, OFFLINE_NAME } from './catalog.ts';
import { fitMessages, type Prompt, toolsThatFit, withSystem, withTools } from './prompt.ts';
import type { ToolCalls } from './tool-calls.ts';

const MAX_ANSWER_CHARACTERS = 100_000;

/** The answer of a model that proposed something and wrote nothing. */
const WAITS = 'Waiting for your confirmation below.';

export type GeneratedPart = Extract<AnswerPart, { kind: 'text' | 'step' }>;

/** A whole answer. */
export interface GeneratedText {
  text: string;
  /** The model stopped at its maximum length. */
  isCutOff: boolean;
}

interface GenerateOptions {
  model: Model;
  /** Shown next to the model's name in the footer. */
  role?: string;
  gateway: GatewayClient;
  tools?: ToolCalls;
  /** Looks up facts for a model without functions. */
  facts?: () => AsyncGenerator<GeneratedPart, string | undefined>;
  /** Throws if the model may not be called again. */
  requireBudget(): Promise<void>;
  run: AnswerRun;
}

/** An answer between two requests to its model. */
interface Generation {
  /** With the facts, if they were looked up and fit. */
  prompt: Prompt;
  tools: ToolCalls | undefined;
  hasFacts: boolean;
  /** Tool calls and results of this answer. */
  exchange: ChatMessage[];
  /** All text so far. */
  text: string;
}

/** One response of the model. */
interface ModelRound {
  text: string;
  calls: ToolCall[];
  finishReason: string | undefined;
}

/** Yields an answer as it comes; returns its text when it is whole, and throws when it is not. */
export async function* generate(
  prompt: Prompt,
  options: GenerateOptions,
): AsyncGenerator<GeneratedPart, GeneratedText> {
  const { model, requireBudget, run } = options;
  run.startModel({ id: model.id, name: nameOf(model), role: options.role });
  const tools = toolsThatFit(model, prompt, options.tools);
  const generation: Generation = { prompt, tools, hasFacts: false, exchange: [], text: '' };
  for (let number = 0; ; number += 1) {
    if (number > 0) await requireBudget();
    if (!generation.tools && !generation.hasFacts) yield* addFacts(generation, options);
    let round: ModelRound;
    try {
      round = yield* requestRound(generation, number, options);
    } catch (error) {
      if (number > 0 || !dropRefusedTools(generation, error)) throw error;
      continue;
    }
    run.signal.throwIfAborted();
    if (!generation.tools || generation.tools.isExhausted || round.calls.length === 0) {
      return yield* endGeneration(generation, round, nameOf(model));
    }
    run.recordToolRound(number);
    generation.exchange.push(callsMessage(round));
    generation.exchange.push(...(yield* runCalls(generation.tools, round.calls, run)));
    run.signal.throwIfAborted();
  }
}

/** The question is answered without the facts if there is no room for them. */
async function* addFacts(generation: Generation, { model, facts }: GenerateOptions) {
  generation.hasFacts = true;
  const found = facts && (yield* facts());
  if (found === undefined) return;
  const withFacts = withSystem(generation.prompt, found);
  if (fitMessages(withFacts, model.context_length)) generation.prompt = withFacts;
}

/** Sends one request and yields the text of its response as it comes. */
async function* requestRound(
  generation: Generation,
  number: number,
  { model, gateway, run }: GenerateOptions,
): AsyncGenerator<GeneratedPart, ModelRound> {
  const onUpstream = (upstream: AnsweringModel) =>
    run.setUpstreamName(upstream.provider === OFFLINE_PROVIDER ? OFFLINE_NAME : upstream.model);
  const callReader = createCallReader();
  let finishReason: string | undefined;
  let text = '';
  const request = requestOf(generation, model);
  run.startStallTimer();
  try {
    for await (const chunk of gateway.stream(request, { signal: run.signal, onUpstream })) {
      if (chunk.usage) run.recordUsage(chunk.usage, number);
      const choice = chunk.choices.find(({ index }) => index === 0);
      if (!choice) continue;
      finishReason = choice.finish_reason ?? finishReason;
      callReader.read(choice);
      const added = choice.delta.content ?? '';
      // A growing tool call is progress, too.
      if (added === '' && !choice.delta.tool_calls) continue;
      run.stopStallTimer();
      if (added !== '') {
        yield* appendText(generation, { added, isFirst: text === '' }, run);
        text += added;
      }
      run.startStallTimer();
    }
  } finally {
    run.stopStallTimer();
  }
  return { text, calls: callReader.calls(), finishReason };
}

function requestOf({ prompt, tools, exchange }: Generation, model: Model): ChatRequest {
  const messages = fitMessages(withTools(prompt, tools), model.context_length, { exchange, tools });
  if (!messages) {
    throw new CommandError(
      `This question is too long for ${nameOf(model)}. Shorten it, or choose a model with a larger context: /askwatch models.`,
    );
  }
  return {
    model: model.id,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(tools && { tools: tools.definitions }),
    ...(tools?.isExhausted && { tool_choice: 'none' }),
  };
}

async function* appendText(
  generation: Generation,
  { added, isFirst }: { added: string; isFirst: boolean },
  run: AnswerRun,
): AsyncGenerator<GeneratedPart> {
  const whole = (isFirst && generation.text !== '' ? '\n\n' : '') + added;
  const text = whole.slice(0, MAX_ANSWER_CHARACTERS - generation.text.length);
  generation.text += text;
  if (text !== '') yield { kind: 'text', text };
  if (text.length < whole.length) {
    run.cut(
      'The answer is longer than Askwatch can show, so it ends here. Ask for less at a time.',
    );
  }
  run.signal.throwIfAborted();
}

/** Asks again without tools if the gateway refused the first request; other people's tools go first. */
function dropRefusedTools(generation: Generation, error: unknown): boolean {
  const { tools, text } = generation;
  const isRefusal =
    error instanceof StatusError && [400, 404, 422, 501].includes(error.status) && text === '';
  if (!tools || !isRefusal) return false;
  let hadServers = false;
  while (tools.dropLastServer('the model rejected its tools')) hadServers = true;
  if (!hadServers) generation.tools = undefined;
  return true;
}

async function* endGeneration(
  { text, tools }: Generation,
  { finishReason }: ModelRound,
  name: string,
): AsyncGenerator<GeneratedPart, GeneratedText> {
  if (text.trim() !== '') return { text, isCutOff: finishReason === 'length' };
  if (tools && tools.proposals.length > 0) {
    yield { kind: 'text', text: WAITS };
    return { text: WAITS, isCutOff: false };
  }
  throw new CommandError(`${name} sent an empty answer. Rephrase the question and ask again.`);
}

async function* runCalls(
  tools: ToolCalls,
  calls: readonly ToolCall[],
  run: AnswerRun,
): AsyncGenerator<GeneratedPart, ChatMessage[]> {
  return yield* lookupParts(tools.callForModel(calls, run.signal), run);
}

/** Counts look-ups and yields their steps, then returns what `steps` returns. */
export const lookupParts = <R>(steps: AsyncGenerator<AnswerStep, R>, run: AnswerRun) =>
  mapParts(steps, (step): GeneratedPart => {
    if (step.state === 'running') run.countLookup();
    return { kind: 'step', step };
  });

/** Yields each part as `map` returns it, then returns what `parts` returns. Closes `parts` also if its reader leaves early. */
export async function* mapParts<T, U, R>(
  parts: AsyncGenerator<T, R>,
  map: (part: T) => U,
): AsyncGenerator<U, R> {
  try {
    for (;;) {
      const next = await parts.next();
      if (next.done) return next.value;
      yield map(next.value);
    }
  } finally {
    // `yield*` would pass on that the reader leaves, but can't map.
    await parts.return(undefined as R);
  }
}

const callsMessage = ({ text, calls }: ModelRound): ChatMessage => ({
  role: 'assistant',
  content: text === '' ? null : text,
  tool_calls: calls.map(sentBack),
});
