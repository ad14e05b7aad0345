import type { ChatRequest } from '../../contracts/gateway.ts';
import { steeringFor } from './anthropic-models.ts';
import { encodeTools } from './anthropic-tools.ts';
import { encodeSystem, encodeTurns, saysNothing } from './anthropic-turns.ts';
import { type Fields, isFields } from './json.ts';
import type { Provider } from './provider.ts';
import { unsupportedError } from './provider-errors.ts';
import { orderTurns } from './turns.ts';

/**
 * Parameters without a counterpart that the answer does not depend on, or only by shades. Our choice: they are left
 * out, penalties among them, because the API refuses them; its own compatibility layer does the same.
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

/** Parameters without a counterpart that change what the answer is: refused but for these values. */
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
 * A chat request as the Messages API takes it. Fields that nobody here knows pass through, such as its own `thinking`
 * and `top_k`.
 */
export function encodeRequest(request: ChatRequest, provider: Provider, model: string): Fields {
  const { messages, temperature, top_p, max_tokens, stop, ...rest } = request;
  const { tools, tool_choice, parallel_tool_calls, response_format, ...others } = rest;
  const { user, metadata, output_config, stream, ...passed } = passedFields(others, provider);
  const { system, turns } = orderTurns(messages.filter((message) => !saysNothing(message)));
  const { sent } = splitStops(stop);
  const places = new Map(messages.map((message, at) => [message, `messages.${at}`]));
  return {
    ...passed,
    model,
    ...steeringFor(model, { temperature, top_p, max_tokens, thinking: passed.thinking }),
    ...(system.length > 0 && { system: encodeSystem(system, places, provider) }),
    messages: encodeTurns(turns, places, provider),
    ...(sent.length > 0 && { stop_sequences: sent }),
    ...encodeTools({ tools, tool_choice, parallel_tool_calls }, provider),
    ...(stream === true && { stream }),
    ...metadataFor(user, metadata),
    ...outputConfig(response_format, output_config, provider),
    ...(remembers(request) && { cache_control: { type: 'ephemeral' } }),
  };
}

/** Of these the caller misses nothing: both are made up for here. */
const MADE_UP_FOR = ['n', 'stream_options'];

/** What the caller asked for that a request to this model leaves out. */
export function droppedFrom(request: ChatRequest, model: string): string[] {
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
    ...[...LEFT_OUT].filter((name) => !MADE_UP_FOR.includes(name)),
  ].filter((name) => request[name] != null);
  const named = request.messages.some(({ name }) => name != null);
  return named ? [...names, 'messages.name'] : names;
}

/**
 * The API refuses stop sequences of nothing but white space, so the answer is cut at those here.
 * Source: BerriAI/litellm#3286.
 */
export function splitStops(stop: ChatRequest['stop']): { sent: string[]; own: string[] } {
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
      throw unsupportedError(provider, name, 'has nothing like it; leave it out');
    }),
  );
}

/** The convention's metadata are notes to its own account; the API knows the user's id alone. */
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
  const why = 'gives JSON by a schema only; use the type json_schema with a schema';
  throw unsupportedError(provider, 'response_format', why);
}

/**
 * Whether this is a conversation that goes on: its beginning was sent before and will be again, so keeping it is worth
 * the quarter more that the first time costs. Source: Claude API docs, "Prompt caching", automatic caching and pricing.
 */
function remembers({
  messages,
  cache_control,
}: ChatRequest & { cache_control?: unknown }): boolean {
  const answered = messages.some(({ role }) => role === 'assistant');
  return answered && cache_control === undefined && !marksCache(messages);
}

/** The caller says itself what is kept. */
function marksCache(messages: ChatRequest['messages']): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => 'cache_control' in part),
  );
}
