import type { ChatRequest } from '../../contracts/gateway.ts';
import { type Fields, isFields } from '../shared/fields.ts';
import { encodeMessage, encodeTools, joinTurns, type Spoken } from './anthropic-messages.ts';
import { createEventReader, readMessage } from './anthropic-response.ts';
import { orderTurns } from './dialect.ts';
import type { Dialect, Provider } from './provider.ts';
import { unsupportedError } from './provider-errors.ts';

/** Anthropic's Messages API. Source: Claude API reference, "Create a Message". */
export const anthropicDialect: Dialect = {
  path: '/messages',
  encode: encodeRequest,
  ownStops: ({ stop }) => splitStops(stop).own,
  dropped: (request, _provider, model) => droppedFrom(request, model),
  decode: readMessage,
  openStream: createEventReader,
};

/**
 * Parameters without a counterpart that hardly change the answer. Our choice: they are left out, penalties included, because
 * the API refuses them; its own compatibility layer does the same.
 * Source: Claude API docs, "OpenAI SDK compatibility".
 */
const LEFT_OUT = new Set([
  'n',
  'stream_options',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'store',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning_effort',
  'safety_identifier',
  'service_tier',
  'verbosity',
]);

/** Parameters without a counterpart that change the answer. They are refused, except with these values. */
const REFUSED: Readonly<Record<string, (value: unknown) => boolean>> = {
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isFields(value) && Object.keys(value).length === 0,
  modalities: (value) => JSON.stringify(value) === '["text"]',
  audio: () => false,
  functions: () => false,
  function_call: (value) => value === 'none',
  web_search_options: () => false,
};

/**
 * Converts a chat request for the Messages API. Unknown fields pass through, such as the API's own `thinking` and `top_k`.
 */
function encodeRequest(request: ChatRequest, provider: Provider, model: string): Fields {
  const { messages, temperature, top_p, max_tokens, stop, ...rest } = request;
  const { tools, tool_choice, parallel_tool_calls, response_format, ...others } = rest;
  const { user, metadata, output_config, stream, ...passed } = passedFields(others, provider);
  const spoken = messages.map((message, at) => encodeMessage(message, `messages.${at}`, provider));
  // The API refuses empty messages. Source: measured in experientiallabs/experiential#804.
  const written = spoken.filter(({ content }) => content.length > 0);
  const { system, turns } = orderTurns(written, userSays);
  const { sent } = splitStops(stop);
  return {
    ...passed,
    model,
    ...steeringFor(model, { temperature, top_p, max_tokens, thinking: passed.thinking }),
    ...(system.length > 0 && { system: system.flatMap(({ content }) => content) }),
    messages: joinTurns(turns),
    ...(sent.length > 0 && { stop_sequences: sent }),
    ...encodeTools({ tools, tool_choice, parallel_tool_calls }, provider),
    ...(stream === true && { stream }),
    ...metadataFor(user, metadata),
    ...outputConfig(response_format, output_config, provider),
    ...(isWorthCaching(request) && { cache_control: { type: 'ephemeral' } }),
  };
}

const userSays = (text: string): Spoken => ({ role: 'user', content: [{ type: 'text', text }] });

/** Parameters that the gateway implements itself, so the client misses nothing. */
const IMPLEMENTED_HERE = ['n', 'stream_options'];

/** Lists the parameters that a request to this model leaves out. */
function droppedFrom(request: ChatRequest, model: string): string[] {
  const { temperature, top_p, thinking, user, metadata } = request;
  const steering = steeringFor(model, { temperature, top_p, thinking });
  const { metadata: sent } = metadataFor(user, metadata) as { metadata?: { user_id: unknown } };
  const isSent: Readonly<Record<string, boolean>> = {
    temperature: 'temperature' in steering,
    top_p: 'top_p' in steering,
    user: sent?.user_id === user,
    metadata: isFields(metadata) && sent?.user_id === metadata.user_id && sent !== undefined,
  };
  const names = [
    ...Object.keys(isSent).filter((name) => !isSent[name]),
    ...[...LEFT_OUT].filter((name) => !IMPLEMENTED_HERE.includes(name)),
  ].filter((name) => request[name] != null);
  const named = request.messages.some(({ name }) => name != null);
  return named ? [...names, 'messages.name'] : names;
}

/**
 * Splits stop sequences: the API refuses white space as one, so the gateway cuts the answer there itself.
 * Source: BerriAI/litellm#3286.
 */
function splitStops(stop: ChatRequest['stop']): { sent: string[]; own: string[] } {
  const stops = [stop ?? []].flat();
  const isSent = (sequence: string) => sequence.trim() !== '';
  return { sent: stops.filter(isSent), own: stops.filter((sequence) => !isSent(sequence)) };
}

function passedFields(fields: Fields, provider: Provider): Fields {
  const given = Object.entries(fields).filter(
    ([name, value]) => value !== null && value !== undefined && !LEFT_OUT.has(name),
  );
  return Object.fromEntries(
    given.filter(([name, value]) => {
      if (!Object.hasOwn(REFUSED, name)) return true;
      if (REFUSED[name]?.(value)) return false;
      throw unsupportedError(provider, name, 'does not support this; leave it out');
    }),
  );
}

/** Converts metadata. The convention's are notes for the account; the API only accepts the user's id. */
function metadataFor(user: unknown, metadata: unknown): Fields {
  const id = (isFields(metadata) && metadata.user_id) || user;
  const takes = typeof id === 'string' && id !== '' && id.length <= 256;
  return takes ? { metadata: { user_id: id } } : {};
}

/** Source: Claude API docs, "Structured outputs". */
function outputConfig(format: unknown, given: unknown, provider: Provider): Fields {
  const config = isFields(given) ? given : {};
  if (format == null || (isFields(format) && format.type === 'text')) {
    return given === undefined ? {} : { output_config: given };
  }
  const schema = isFields(format) && isFields(format.json_schema) && format.json_schema.schema;
  if (isFields(format) && format.type === 'json_schema' && isFields(schema)) {
    return { output_config: { ...config, format: { type: 'json_schema', schema } } };
  }
  const why = 'returns JSON only for a schema; use the type json_schema';
  throw unsupportedError(provider, 'response_format', why);
}

/**
 * Returns true for a continued conversation. Its beginning was sent before and will be sent again, so caching it is worth the
 * extra quarter that the first time costs. Source: Claude API docs, "Prompt caching", automatic caching and pricing.
 */
function isWorthCaching({
  messages,
  cache_control,
}: ChatRequest & { cache_control?: unknown }): boolean {
  const answered = messages.some(({ role }) => role === 'assistant');
  return answered && cache_control === undefined && !marksCache(messages);
}

/** The client marks itself what is cached. */
function marksCache(messages: ChatRequest['messages']): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => 'cache_control' in part),
  );
}

/** Abilities of a family of Claude models. */
interface ClaudeFamily {
  models: RegExp;
  /** Accepts `temperature` or `top_p`, but not both; other models refuse either. */
  sampling: boolean;
  /** The most tokens of a reply. */
  replyTokens: number;
  /** Thinks unless the request turns that off. */
  thinksByDefault: boolean;
}

/**
 * Families of Claude models; the first match counts. Unknown names are treated as newer models.
 * Sources: Claude API docs, "Models overview", "Migration guide", "What's new in Claude Opus 5", "Claude Haiku 5.5
 * migration guide", "What's new in Claude Opus 5.5" (thinking cannot be turned off there), as of November 2026;
 * earendil-works/pi#7961 measured which models refuse `temperature`.
 */
const CLAUDE: readonly ClaudeFamily[] = [
  { models: /^claude-3/, sampling: true, replyTokens: 4_096, thinksByDefault: false },
  {
    models: /^claude-opus-4(?:-[01])?(?:-20\d{6})?$/,
    sampling: true,
    replyTokens: 32_000,
    thinksByDefault: false,
  },
  {
    models: /^claude-(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-20\d{6})?$/,
    sampling: true,
    replyTokens: 64_000,
    thinksByDefault: false,
  },
  {
    models: /^claude-(?:opus|sonnet)-4-6/,
    sampling: true,
    replyTokens: 128_000,
    thinksByDefault: false,
  },
  {
    models: /^claude-(?:opus-5|sonnet-5|haiku-5-5)(?:-20\d{6})?$/,
    sampling: false,
    replyTokens: 128_000,
    thinksByDefault: true,
  },
  { models: /^/, sampling: false, replyTokens: 128_000, thinksByDefault: false },
];

/**
 * Tokens of a reply if the client sets no limit, because the API requires one.
 * Our choice: long enough for any chat; a longer answer ends with the finish reason `length`.
 */
const DEFAULT_REPLY_TOKENS = 16_384;

/**
 * The API's largest temperature. Our choice: more is lowered to it, as its own compatibility layer does.
 * Source: Claude API docs, "OpenAI SDK compatibility".
 */
const MAX_TEMPERATURE = 1;

/** Returns the fields for sampling, length and thinking. */
function steeringFor(
  model: string,
  request: {
    temperature?: number | null;
    top_p?: number | null;
    max_tokens?: number | null;
    thinking?: unknown;
  },
): Record<string, unknown> {
  const traits = CLAUDE.find(({ models }) => models.test(model));
  const { sampling = false, replyTokens = DEFAULT_REPLY_TOKENS, thinksByDefault } = traits ?? {};
  const { temperature, top_p, max_tokens, thinking } = request;
  return {
    max_tokens: Math.min(max_tokens ?? DEFAULT_REPLY_TOKENS, replyTokens),
    ...(sampling && oneOf(temperature, top_p)),
    // Thinking would use up `max_tokens`, which the contract means for the reply. A client can turn it on with this field.
    ...(thinksByDefault && thinking === undefined && { thinking: { type: 'disabled' } }),
  };
}

/**
 * Chooses one of both, because newer models refuse them together. Our choice: the temperature, unless it is the default.
 * Source: gateway contract, "top_p: an alternative to temperature"; OpenHands/software-agent-sdk#1945.
 */
function oneOf(temperature?: number | null, topP?: number | null): Record<string, number> {
  if (temperature != null && (temperature !== 1 || topP == null)) {
    return { temperature: Math.min(temperature, MAX_TEMPERATURE) };
  }
  return topP == null ? {} : { top_p: topP };
}
