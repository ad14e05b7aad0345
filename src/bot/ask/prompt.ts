import type { ChatMessage, ContentPart, Model } from '../../contracts/gateway.ts';
import { estimateJsonTokens, estimatePromptTokens, roughTokens } from '../../contracts/tokens.ts';
import type { Turn } from './conversations.ts';
import type { PeopleMessages } from './people-messages.ts';
import type { ToolCalls } from './tool-calls.ts';

/** Everything a model gets for one question. */
export interface Prompt {
  system: string;
  turns: ReadonlyArray<Turn & { parts?: readonly ContentPart[] }>;
  question: string;
  people?: Pick<PeopleMessages, 'textWithin'>;
  /** Files of the question. */
  parts?: readonly ContentPart[];
}

/** Context assumed for a model that does not say its own: the smallest in the contract's catalog. */
const ASSUMED_CONTEXT_TOKENS = 4096;

const MIN_RESULT_TOKENS = 500;

/** Room for results if the context size is unknown. */
const DEFAULT_RESULT_TOKENS = 3_000;

/** Minimum for JSON. */
const BYTES_PER_TOKEN = 2.5;

/** Kept free for the reply: a quarter of the context, and no more than a long answer takes. */
const replyTokens = (context: number) => Math.min(Math.ceil(context / 4), 4096);

/** Room in a context for earlier turns and files, next to the question and a reply. */
export const tokensLeftFor = (
  { system, question, parts }: Omit<Prompt, 'turns'>,
  context = ASSUMED_CONTEXT_TOKENS,
) =>
  context -
  replyTokens(context) -
  estimatePromptTokens([{ role: 'system', content: system }, questionMessage(question, parts)]);

const questionMessage = (question: string, parts: readonly ContentPart[] = []): ChatMessage => ({
  role: 'user',
  content: parts.length === 0 ? question : [{ type: 'text', text: question }, ...parts],
});

/**
 * The messages of a request: system prompt, the newest turns that fit, people's messages, the question, and the tool calls so
 * far. `undefined` if the question alone leaves no room for a reply. Turns are kept from the newest back without a gap, so
 * that the rest makes sense. People's messages get the room that turns leave, and at least half of it.
 */
export function fitMessages(
  prompt: Prompt,
  context?: number,
  { exchange = [], tools }: { exchange?: readonly ChatMessage[]; tools?: ToolCalls } = {},
): ChatMessage[] | undefined {
  let left = tokensLeftFor(prompt, context);
  if (left < 0) return undefined;
  if (context !== undefined) left -= estimatePromptTokens(exchange) + toolTokens(tools);
  const turns = prompt.turns.map((turn) => {
    const messages: ChatMessage[] = [
      questionMessage(turn.question, turn.parts),
      { role: 'assistant', content: turn.answer },
    ];
    return { messages, tokens: estimatePromptTokens(messages) };
  });
  const turnTokens = turns.reduce((sum, { tokens }) => sum + tokens, 0);
  const people = prompt.people?.textWithin(Math.floor(Math.max(left - turnTokens, left / 2))) ?? '';
  if (people !== '') left -= Math.ceil(roughTokens(people)) + 1;
  const history: ChatMessage[] = [];
  for (const { messages, tokens } of turns.reverse()) {
    left -= tokens;
    if (left < 0) break;
    history.unshift(...messages);
  }
  return [
    { role: 'system', content: prompt.system },
    ...history,
    questionMessage(people + prompt.question, prompt.parts),
    ...exchange,
  ];
}

/**
 * The tools for a model that takes functions, if they need no more than a third of its context: without other people's
 * servers and then without writing tools if there is too little room. Results get half of the room next to the question and a
 * reply. If the context size is unknown, all are offered: a model without room for them refuses, and is asked without.
 */
export function toolsThatFit(
  { supported_parameters, context_length: context }: Model,
  prompt: Prompt,
  tools: ToolCalls | undefined,
): ToolCalls | undefined {
  if (!tools || supported_parameters?.includes('tools') === false) return undefined;
  const isTooLarge = () => context !== undefined && toolTokens(tools) > context / 3;
  const hasNoRoom = () => isTooLarge() || resultTokens(context, prompt, tools) === undefined;
  while (hasNoRoom() && tools.dropLastServer('no room for its tools')) {}
  if (isTooLarge()) tools.dropWritingTools();
  if (isTooLarge()) return undefined;
  const tokens = resultTokens(context, prompt, tools);
  if (tokens === undefined) return undefined;
  tools.limitResults(tokens * BYTES_PER_TOKEN);
  return tools;
}

/** Tokens for results; `undefined` if too few to be of use. */
function resultTokens(context: number | undefined, prompt: Prompt, tools: ToolCalls) {
  const left = tokensLeftFor(withTools(prompt, tools), context);
  const tokens = context === undefined ? DEFAULT_RESULT_TOKENS : (left - toolTokens(tools)) / 2;
  return Math.min(left, tokens) < MIN_RESULT_TOKENS ? undefined : tokens;
}

const toolTokens = (tools: ToolCalls | undefined) =>
  tools ? estimateJsonTokens(tools.definitions) : 0;

export const withSystem = (prompt: Prompt, more: string): Prompt => ({
  ...prompt,
  system: `${prompt.system}\n\n${more}`,
});

export const withTools = (prompt: Prompt, tools: ToolCalls | undefined) =>
  tools ? withSystem(prompt, tools.prompt) : prompt;
