import { StatusError } from '../../clients/errors.ts';
import type { GatewayClient, UpstreamName } from '../../clients/gateway.ts';
import {
  type ChatMessage,
  type ContentPart,
  type Model,
  OFFLINE_PROVIDER,
} from '../../contracts/gateway.ts';
import { estimateJsonTokens, estimatePromptTokens, roughTokens } from '../../contracts/tokens.ts';
import { CommandError } from '../shared/errors.ts';
import type { AnswerPart } from '../shared/invocation.ts';
import type { AnswerRun } from './answer-run.ts';
import { createCallReader, sentBack, type ToolCall } from './call-reader.ts';
import { nameOf, OFFLINE_NAME } from './catalog.ts';
import type { Turn } from './conversations.ts';
import type { PeopleMessages } from './people-messages.ts';
import type { ToolCalls } from './tool-calls.ts';

const MAX_ANSWER_CHARACTERS = 100_000;

/** The answer of a model that proposed something and said nothing. */
const WAITS = 'Waiting for your confirmation below.';

/** What a model is asked, with what was said before. */
interface Prompt {
  system: string;
  turns: ReadonlyArray<Turn & { parts?: readonly ContentPart[] | undefined }>;
  question: string;
  /** What people wrote around the question, for as much room as there is. */
  people?: Pick<PeopleMessages, 'within'> | undefined;
  /** What stands beside the question, and beside those of turns: files. */
  parts?: readonly ContentPart[];
}

/** What an answer is generated in. */
type Part = Extract<AnswerPart, { kind: 'text' | 'step' }>;

/** A whole answer. */
export interface Generated {
  text: string;
  /** The model would have gone on. */
  isCutOff: boolean;
}

/** Yields an answer as it comes; returns its text when it is whole, and throws when it is not. */
export async function* generate(
  prompt: Prompt,
  options: {
    model: Model;
    /** See `AnswerRun.began`. */
    role?: string | undefined;
    gateway: GatewayClient;
    tools?: ToolCalls | undefined;
    /** What a model without functions is told besides. */
    facts?: () => AsyncGenerator<Part, string | undefined>;
    /** Throws where the model may not be called again. */
    requireBudget(): Promise<void>;
    run: AnswerRun;
  },
): AsyncGenerator<Part, Generated> {
  const { model, gateway, requireBudget, run } = options;
  const name = nameOf(model);
  run.began({ id: model.id, name, role: options.role });
  let tools = offeredTo(model, prompt, options.tools);
  let asked = prompt;
  let hasFacts = false;
  const onUpstream = (upstream: UpstreamName) =>
    run.answeredBy(upstream.provider === OFFLINE_PROVIDER ? OFFLINE_NAME : upstream.model);
  /** What the model called and was given in this answer. */
  const exchange: ChatMessage[] = [];
  let answer = '';
  for (let round = 0; ; round += 1) {
    if (round > 0) await requireBudget();
    if (!tools && !hasFacts) {
      hasFacts = true;
      const facts = options.facts && (yield* options.facts());
      // Where there is no room for them, the question is still to be answered.
      const told = facts === undefined ? prompt : withSystem(prompt, facts);
      if (trim(told, model.context_length)) asked = told;
    }
    const messages = trim(withTools(asked, tools), model.context_length, { exchange, tools });
    if (!messages) {
      throw new CommandError(
        `This question is too long for ${name}. Shorten it, or choose a model with a larger context: /askwatch models.`,
      );
    }
    const request = {
      model: model.id,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...(tools && { tools: tools.definitions() }),
      ...(tools?.isSpent() && { tool_choice: 'none' }),
    };
    const calls = createCallReader();
    let finish: string | undefined;
    let said = '';
    run.waits();
    try {
      for await (const chunk of gateway.stream(request, { signal: run.signal, onUpstream })) {
        if (chunk.usage) run.used(chunk.usage, round);
        const choice = chunk.choices.find(({ index }) => index === 0);
        finish = choice?.finish_reason ?? finish;
        if (choice) calls.read(choice);
        const text = choice?.delta.content ?? '';
        if (text === '') {
          // A call that grows is something new, too.
          if (choice?.delta.tool_calls) {
            run.shows();
            run.waits();
          }
          continue;
        }
        const joint = said === '' && answer !== '' ? '\n\n' : '';
        const shown = (joint + text).slice(0, MAX_ANSWER_CHARACTERS - answer.length);
        said += text;
        answer += shown;
        run.shows();
        if (shown !== '') yield { kind: 'text', text: shown };
        if (shown.length < joint.length + text.length) {
          run.cut(
            'The answer is longer than Askwatch can show, so it ends here. Ask for less at a time.',
          );
        }
        run.signal.throwIfAborted();
        run.waits();
      }
    } catch (error) {
      // Not every model that is said to take functions does: then it answers without.
      if (!tools || round > 0 || said !== '' || !isRefusal(error)) throw error;
      // What others say of their tools may be what it does not take.
      if (!leaveOutServers(tools, 'the model rejected its tools')) tools = undefined;
      run.shows();
      continue;
    }
    run.shows();
    run.signal.throwIfAborted();
    const called = tools?.isSpent() ? [] : calls.calls();
    if (!tools || called.length === 0) {
      if (answer.trim() === '' && tools?.proposed().length) {
        yield { kind: 'text', text: WAITS };
        return { text: WAITS, isCutOff: false };
      }
      if (answer.trim() === '') {
        throw new CommandError(
          `${name} sent an empty answer. Rephrase the question and ask again.`,
        );
      }
      return { text: answer, isCutOff: finish === 'length' };
    }
    run.calls(round);
    exchange.push(callsMessage(said, called));
    exchange.push(...(yield* runCalls(tools, called, run)));
    run.signal.throwIfAborted();
  }
}

async function* runCalls(tools: ToolCalls, called: readonly ToolCall[], run: AnswerRun) {
  const steps = tools.run(called, run.signal);
  for (;;) {
    const next = await steps.next();
    if (next.done) return next.value;
    if (next.value.state === 'running') run.looksUp();
    yield { kind: 'step' as const, step: next.value };
  }
}

const callsMessage = (said: string, called: readonly ToolCall[]): ChatMessage => ({
  role: 'assistant',
  content: said === '' ? null : said,
  tool_calls: called.map(sentBack),
});

/** Whether the gateway refused the request itself. */
const isRefusal = (error: unknown) =>
  error instanceof StatusError && [400, 404, 422, 501].includes(error.status);

/** Tokens that results need at least to be of any use. */
const LEAST_RESULT_TOKENS = 500;

/** Room for results where nobody says how large the context is. */
const UNSAID_RESULT_TOKENS = 3_000;

/** Bytes of a token of JSON, at least. */
const BYTES_PER_TOKEN = 2.5;

/**
 * The tools, where the model takes functions and they take no more than a third of its context: all of them, those that are our
 * own, or those of these that only look. Results get half of what is left beside the question and a reply. Where nobody says how large the context is, they
 * are offered on top of what is assumed: a model that has no room for them refuses, and is asked without.
 */
function offeredTo(
  { supported_parameters, context_length: context }: Model,
  prompt: Prompt,
  tools: ToolCalls | undefined,
): ToolCalls | undefined {
  if (!tools || supported_parameters?.includes('tools') === false) return undefined;
  const isTooMuch = () => context !== undefined && toolTokens(tools) > context / 3;
  const isFull = () => isTooMuch() || roomForResults(context, prompt, tools) === undefined;
  while (isFull() && tools.leaveOutServer('no room for its tools')) {}
  if (isTooMuch()) tools.leaveOutWrites();
  if (isTooMuch()) return undefined;
  const forResults = roomForResults(context, prompt, tools);
  if (forResults === undefined) return undefined;
  tools.leaveRoom(forResults * BYTES_PER_TOKEN);
  return tools;
}

/** Tokens that results may have; `undefined` where they would be of no use. */
function roomForResults(context: number | undefined, prompt: Prompt, tools: ToolCalls) {
  const left = leftBeside(withTools(prompt, tools), context ?? ASSUMED_CONTEXT_TOKENS);
  const forResults = context === undefined ? UNSAID_RESULT_TOKENS : (left - toolTokens(tools)) / 2;
  return Math.min(left, forResults) < LEAST_RESULT_TOKENS ? undefined : forResults;
}

/** Leaves out all of other people's servers; whether there were any. */
function leaveOutServers(tools: ToolCalls, why: string): boolean {
  let some = false;
  while (tools.leaveOutServer(why)) some = true;
  return some;
}

const withSystem = (prompt: Prompt, more: string): Prompt => ({
  ...prompt,
  system: `${prompt.system}\n\n${more}`,
});

const withTools = (prompt: Prompt, tools: ToolCalls | undefined) =>
  tools ? withSystem(prompt, tools.prompt) : prompt;

/** What a context has left for what was said before, beside the question and a reply. */
export const leftBeside = (
  { system, question, parts }: Omit<Prompt, 'turns'>,
  context = ASSUMED_CONTEXT_TOKENS,
) =>
  context -
  replyTokens(context) -
  estimatePromptTokens([{ role: 'system', content: system }, questionOf(question, parts)]);

const questionOf = (question: string, parts: readonly ContentPart[] = []): ChatMessage => ({
  role: 'user',
  content: parts.length === 0 ? question : [{ type: 'text', text: question }, ...parts],
});

/** Context assumed for a model that does not say its own: the smallest in the contract's catalog. */
const ASSUMED_CONTEXT_TOKENS = 4096;

/** Tokens kept free for the reply: a quarter of the context, and no more than a long answer takes. */
const replyTokens = (context: number) => Math.min(Math.ceil(context / 4), 4096);

const toolTokens = (tools: ToolCalls | undefined) =>
  tools ? estimateJsonTokens(tools.definitions()) : 0;

/**
 * The prompt of a question: system prompt, the newest turns that fit, what people wrote around the question, the question, and
 * what was called for it so far. `undefined` when the question alone does not fit beside a reply. Turns are kept from the
 * newest back without a gap, so that what is left makes sense; what people wrote has what they leave, and half of it all at
 * least.
 */
export function trim(
  prompt: Prompt,
  context?: number,
  {
    exchange = [],
    tools,
  }: { exchange?: readonly ChatMessage[]; tools?: ToolCalls | undefined } = {},
): ChatMessage[] | undefined {
  let left = leftBeside(prompt, context ?? ASSUMED_CONTEXT_TOKENS);
  if (left < 0) return undefined;
  if (context !== undefined) left -= estimatePromptTokens(exchange) + toolTokens(tools);
  const pairs = prompt.turns.map((turn) => {
    const pair: ChatMessage[] = [
      questionOf(turn.question, turn.parts),
      { role: 'assistant', content: turn.answer },
    ];
    return { pair, tokens: estimatePromptTokens(pair) };
  });
  const said = pairs.reduce((sum, { tokens }) => sum + tokens, 0);
  const written = prompt.people?.within(Math.floor(Math.max(left - said, left / 2))) ?? '';
  if (written !== '') left -= Math.ceil(roughTokens(written)) + 1;
  const history: ChatMessage[] = [];
  for (const { pair, tokens } of pairs.reverse()) {
    left -= tokens;
    if (left < 0) break;
    history.unshift(...pair);
  }
  const { system, question, parts } = prompt;
  return [
    { role: 'system', content: system },
    ...history,
    questionOf(written + question, parts),
    ...exchange,
  ];
}
