import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../../contracts/gateway.ts';
import { type Fields, isFields } from './fields.ts';

// zod takes a tenth of a call's CPU to say of nearly every request and answer that it is as it should be. These say the same
// of the shapes that nearly all have, for a tenth of that. What they do not know is for zod, which alone says what is wrong.

const ROLES = new Set<unknown>(['user', 'assistant', 'system', 'developer', 'tool']);

/** Whether a value is certainly a `ChatRequest`. False says nothing. */
export function isCommonRequest(value: unknown): value is ChatRequest {
  if (!isFields(value)) return false;
  const { model, messages, stop } = value;
  return (
    typeof model === 'string' &&
    model !== '' &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every(isTextMessage) &&
    isNumber(value.temperature, 0, 2) &&
    isNumber(value.top_p, 0, 1) &&
    isNumber(value.presence_penalty, -2, 2) &&
    isNumber(value.frequency_penalty, -2, 2) &&
    isCount(value.max_tokens, Number.MAX_SAFE_INTEGER) &&
    isCount(value.max_completion_tokens, Number.MAX_SAFE_INTEGER) &&
    isCount(value.n, 128) &&
    isFlag(value.stream) &&
    areStreamOptions(value.stream_options) &&
    (stop == null || (typeof stop === 'string' && stop !== ''))
  );
}

/** Whether a value is certainly a `ChatCompletion`. False says nothing. */
export function isCommonCompletion(value: unknown): value is ChatCompletion {
  if (!isFields(value)) return false;
  const { id, object, created, model, choices, usage } = value;
  return (
    typeof id === 'string' &&
    object === 'chat.completion' &&
    Number.isSafeInteger(created) &&
    typeof model === 'string' &&
    Array.isArray(choices) &&
    choices.every(isTextChoice) &&
    (usage === undefined || isUsage(usage))
  );
}

/** Whether a value is certainly a `ChatCompletionChunk`: the one that ends a stream with its usage. False says nothing. */
export function isCommonUsageChunk(value: unknown): value is ChatCompletionChunk {
  if (!isFields(value)) return false;
  const { id, object, created, model, choices, usage } = value;
  return (
    typeof id === 'string' &&
    object === 'chat.completion.chunk' &&
    Number.isSafeInteger(created) &&
    typeof model === 'string' &&
    Array.isArray(choices) &&
    choices.length === 0 &&
    isUsage(usage)
  );
}

function isTextMessage(message: unknown): boolean {
  return isFields(message) && ROLES.has(message.role) && typeof message.content === 'string';
}

function isTextChoice(choice: unknown): boolean {
  if (!isFields(choice)) return false;
  const { index, message, finish_reason } = choice;
  return (
    isTokenCount(index) &&
    isFields(message) &&
    message.role === 'assistant' &&
    typeof message.content === 'string' &&
    typeof finish_reason === 'string'
  );
}

function isUsage(usage: unknown): boolean {
  return (
    isFields(usage) &&
    isTokenCount(usage.prompt_tokens) &&
    isTokenCount(usage.completion_tokens) &&
    isTokenCount(usage.total_tokens)
  );
}

function areStreamOptions(options: unknown): boolean {
  return options == null || (isFields(options) && isFlag((options as Fields).include_usage));
}

const isTokenCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

const isFlag = (value: unknown) => value == null || typeof value === 'boolean';

const isNumber = (value: unknown, least: number, most: number) =>
  value == null || (typeof value === 'number' && value >= least && value <= most);

const isCount = (value: unknown, most: number) =>
  value == null || (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most);
