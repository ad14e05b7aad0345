import type { IncomingHttpHeaders } from 'node:http';

// biome-ignore lint/suspicious/noExplicitAny: the body of a request that may be wrong in any way
type Body = any;

export interface MessagesRefusal {
  status: number;
  type: string;
  message: string;
}

const bad = (message: string): MessagesRefusal => ({
  status: 400,
  type: 'invalid_request_error',
  message,
});

const FIELDS = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'stream',
  'tools',
  'tool_choice',
  'metadata',
  'thinking',
  'cache_control',
  'output_config',
  'service_tier',
  'container',
];

const BLOCK_FIELDS: Record<string, string[]> = {
  text: ['type', 'text', 'cache_control', 'citations'],
  image: ['type', 'source', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
};

/** A model's name without the date of its snapshot. */
const undated = (model: string) => model.replace(/-20\d{6}$/, '');

const takesSampling = (model: string) =>
  /^claude-(3|(haiku|sonnet|opus)-4(-[0-6])?$)/.test(undated(model));
const takesPrefill = (model: string) => /-4-[0-5]$|^claude-3/.test(undated(model));
const alwaysThinks = (model: string) => /^claude-(opus-5-5|fable)/.test(model);
const longestReply = (model: string) => {
  if (/^claude-3/.test(model)) return 4_096;
  if (/-opus-4(-[01])?$/.test(undated(model))) return 32_000;
  return /-4-5$/.test(undated(model)) ? 64_000 : 128_000;
};

/** Requests that the Messages API refuses, from its docs and from reported errors, independent of the gateway's code. */
export function messagesRefusal(
  headers: IncomingHttpHeaders,
  body: Body,
  options: { apiKey: string; models: readonly string[] },
): MessagesRefusal | undefined {
  if (headers['x-api-key'] !== options.apiKey) {
    return { status: 401, type: 'authentication_error', message: 'invalid x-api-key' };
  }
  if (headers['anthropic-version'] !== '2023-06-01') {
    return bad('anthropic-version: header is required');
  }
  if (typeof body !== 'object' || body === null) return bad('The request body is not valid JSON.');
  const extra = Object.keys(body).find((name) => !FIELDS.includes(name));
  if (extra) return bad(`${extra}: Extra inputs are not permitted`);
  for (const name of ['model', 'max_tokens', 'messages']) {
    if (body[name] === undefined) return bad(`${name}: Field required`);
  }
  if (!options.models.includes(body.model)) {
    return { status: 404, type: 'not_found_error', message: `model: ${body.model}` };
  }
  return wrongParameters(body) ?? wrongSystem(body.system) ?? wrongTools(body) ?? wrongTurns(body);
}

function wrongParameters(body: Body): MessagesRefusal | undefined {
  const { model, max_tokens, temperature, top_p, stop_sequences, thinking, metadata } = body;
  const most = longestReply(model);
  if (!Number.isInteger(max_tokens) || max_tokens < 1) {
    return bad('max_tokens: Input should be greater than or equal to 1');
  }
  if (max_tokens > most) {
    return bad(`max_tokens: ${max_tokens} > ${most}, which is the maximum for ${model}`);
  }
  for (const name of ['temperature', 'top_p', 'top_k']) {
    if (body[name] === undefined || takesSampling(model)) continue;
    return bad(`\`${name}\` is deprecated for this model.`);
  }
  if (temperature > 1 || temperature < 0) return bad('temperature: range: 0..1');
  if (temperature !== undefined && top_p !== undefined) {
    return bad('`temperature` and `top_p` cannot both be specified for this model.');
  }
  if (stop_sequences?.some((sequence: string) => sequence.trim() === '')) {
    return bad('stop_sequences: each stop sequence must contain non-whitespace');
  }
  if (thinking?.type === 'disabled' && alwaysThinks(model)) {
    return bad('"thinking.type.disabled" is not supported for this model.');
  }
  const odd = Object.keys(metadata ?? {}).find((name) => name !== 'user_id');
  if (odd) return bad(`metadata.${odd}: Extra inputs are not permitted`);
  if (body.stream !== undefined && typeof body.stream !== 'boolean') {
    return bad('stream: Input should be a valid boolean');
  }
  const format = body.output_config?.format;
  if (format && (format.type !== 'json_schema' || typeof format.schema !== 'object')) {
    return bad('output_config.format: Input should be a JSON schema');
  }
  return undefined;
}

function wrongSystem(system: Body): MessagesRefusal | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  const at = system.findIndex(({ type }: Body) => type !== 'text');
  if (at !== -1) return bad(`system.${at}.type: Input should be 'text'`);
  return wrongText(system, 'system');
}

function wrongText(blocks: Body[], place: string): MessagesRefusal | undefined {
  const texts = blocks.filter(({ type }) => type === 'text');
  if (texts.some(({ text }) => text === '')) {
    return bad(`${place}: text content blocks must be non-empty`);
  }
  if (texts.length > 0 && texts.every(({ text }) => text.trim() === '')) {
    return bad(`${place}: text content blocks must contain non-whitespace text`);
  }
  return undefined;
}

function wrongTools({ tools, tool_choice }: Body): MessagesRefusal | undefined {
  for (const [at, tool] of (tools ?? []).entries()) {
    if (/_20\d{6}$/.test(tool.type ?? '')) continue;
    const odd = Object.keys(tool).find(
      (name) => !['name', 'description', 'input_schema', 'cache_control', 'strict'].includes(name),
    );
    if (odd) return bad(`tools.${at}.custom.${odd}: Extra inputs are not permitted`);
    if (tool.input_schema?.type !== 'object') {
      return bad(`tools.${at}.custom.input_schema.type: Input should be 'object'`);
    }
  }
  if (tool_choice === undefined) return undefined;
  if (!tools) return bad('tool_choice may only be specified while providing tools');
  const known = ['auto', 'any', 'tool', 'none'].includes(tool_choice.type);
  return known ? undefined : bad('tool_choice.type: Input should be auto, any, tool or none');
}

function wrongTurns({ messages, model }: Body): MessagesRefusal | undefined {
  if (!Array.isArray(messages) || messages.length === 0) {
    return bad('messages: at least one message is required');
  }
  let calls: string[] = [];
  for (const [at, message] of messages.entries()) {
    const place = `messages.${at}`;
    const { role } = message;
    if (role === 'system') return bad('messages: Unexpected role "system".');
    if (role !== 'user' && role !== 'assistant') {
      return bad(`${place}.role: Input should be 'user' or 'assistant'`);
    }
    const odd = Object.keys(message).find((name) => name !== 'role' && name !== 'content');
    if (odd) return bad(`${place}.${odd}: Extra inputs are not permitted`);
    if (at === 0 && role !== 'user') return bad('messages: first message must use the "user" role');
    if (messages[at - 1]?.role === role) {
      return bad('messages: roles must alternate between "user" and "assistant"');
    }
    const blocks: Body[] =
      typeof message.content === 'string'
        ? [{ type: 'text', text: message.content }]
        : message.content;
    if (role === 'user' && blocks.length === 0) {
      return bad(`${place}: user messages must have non-empty content`);
    }
    const wrong = wrongText(blocks, 'messages') ?? wrongBlocks(blocks, place, role, calls);
    if (wrong) return wrong;
    calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
  }
  if (messages.at(-1).role === 'assistant' && !takesPrefill(model)) {
    return bad(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
  return undefined;
}

function wrongBlocks(
  blocks: Body[],
  place: string,
  role: string,
  calls: string[],
): MessagesRefusal | undefined {
  const answered: string[] = [];
  for (const [at, block] of blocks.entries()) {
    const fields = BLOCK_FIELDS[block.type];
    const here = `${place}.content.${at}`;
    if (!fields) return bad(`${here}: Input tag '${block.type}' found is not expected`);
    const odd = Object.keys(block).find((name) => !fields.includes(name));
    if (odd) return bad(`${here}.${block.type}.${odd}: Extra inputs are not permitted`);
    if (block.type === 'image' && !isSource(block.source)) {
      return bad(`${here}.image.source: Input should be a known source`);
    }
    if (block.type === 'tool_use' && (role !== 'assistant' || typeof block.input !== 'object')) {
      return bad(`${here}.tool_use.input: Input should be a valid dictionary`);
    }
    if (block.type !== 'tool_result') continue;
    if (blocks.slice(0, at).some(({ type }) => type !== 'tool_result')) {
      return bad(`${place}: tool_result blocks must come first`);
    }
    if (!calls.includes(block.tool_use_id)) return bad(`${here}: unexpected \`tool_use_id\``);
    answered.push(block.tool_use_id);
  }
  return calls.every((id) => answered.includes(id))
    ? undefined
    : bad(`${place}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`);
}

function isSource(source: Body): boolean {
  if (source?.type === 'url') return /^https?:\/\//.test(source.url);
  const types = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
  return source?.type === 'base64' && types.includes(source.media_type) && source.data !== '';
}
