import type { Dispatcher } from 'undici';
import { request } from 'undici';
import { z } from 'zod';
import { JSON_LIMITS, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { providerHeaders } from './openai-dialect.ts';
import type { Provider, ServedModel } from './provider.ts';

/** Bytes of a list; the longest that a provider has is about 1 MB. */
const LIST_LIMIT_BYTES = 4 * 1024 * 1024;

/** Values in a list; OpenRouter's has some 20,000. */
const LIST_LIMIT_VALUES = 200_000;

/** Listed beside the others, but of no use in a chat. */
const NO_CHAT =
  /embed|rerank|whisper|transcri|moderation|dall-e|stable-diffusion|(?:^|[-_/])(?:tts|ocr|image)(?:[-_.:]|$)/i;

/** Names that say that a model takes pictures. */
const NAMED_FOR_IMAGES = /vision|llava|pixtral|(?:^|[-_/\d])vl(?:[-_.:]|$)/i;

/** Where services tell how many tokens a model takes: OpenRouter, vLLM, Groq, LM Studio and Mistral, Anthropic, in this order. */
const CONTEXT_FIELDS = [
  'context_length',
  'max_model_len',
  'context_window',
  'max_context_length',
  'max_input_tokens',
];

const Listed = z.looseObject({ id: z.string().min(1).max(500) });
const List = z.object({ data: z.array(z.unknown()).nullable() });

/**
 * Asks a service for its models, for so long at most. Throws an error whose message says why it gave none, and holds
 * nothing that the service wrote.
 */
export async function fetchServedModels(
  provider: Provider,
  { timeoutMs, dispatcher }: { timeoutMs: number; dispatcher?: Dispatcher },
): Promise<ServedModel[]> {
  let text = '';
  try {
    const { statusCode, body } = await request(`${provider.baseUrl}/models`, {
      headers: providerHeaders(provider),
      signal: AbortSignal.timeout(timeoutMs),
      ...(dispatcher && { dispatcher }),
    });
    body.on('error', () => {});
    if (statusCode !== 200) {
      body.destroy();
      const isRejected = statusCode === 401 || statusCode === 403;
      throw new Error(isRejected ? `${statusCode}: check ${provider.setting}` : `${statusCode}`);
    }
    body.setEncoding('utf8');
    for await (const part of body) {
      text += part;
      if (text.length > LIST_LIMIT_BYTES) throw new Error('the list is too long');
    }
  } catch (error) {
    const { name, code, message } = error as { name?: string; code?: string; message: string };
    throw new Error(
      name === 'TimeoutError' ? `no answer within ${timeoutMs} ms` : (code ?? message),
    );
  }
  const served = readServedModels(text);
  if (served === undefined) throw new Error('the answer is not a list of models');
  if (served.length === 0) throw new Error('the list has no chat model');
  return served;
}

/** The models of a list that can chat, those with the largest context first; `undefined` when the text is no list. Pure. */
export function readServedModels(text: string): ServedModel[] | undefined {
  let content: unknown;
  try {
    content = parseUntrustedJson(text, { ...JSON_LIMITS, values: LIST_LIMIT_VALUES });
  } catch {
    return undefined;
  }
  const list = List.safeParse(content);
  if (!list.success) return undefined;
  const served = (list.data.data ?? []).flatMap((item) => {
    const listed = Listed.safeParse(item);
    return listed.success && canChat(listed.data) ? [describe(listed.data)] : [];
  });
  return served.sort((a, b) => (b.contextTokens ?? 0) - (a.contextTokens ?? 0));
}

/** Another Askwatch says what it makes, and whether anybody serves it. */
function canChat({ id, kind, available }: z.infer<typeof Listed>): boolean {
  return kind !== 'image' && available !== false && !NO_CHAT.test(id);
}

function describe(model: z.infer<typeof Listed>): ServedModel {
  const { id, input, architecture, capabilities, meta } = model as {
    id: string;
    input?: unknown;
    architecture?: { input_modalities?: unknown } | null;
    capabilities?: { vision?: unknown } | null;
    meta?: { n_ctx_train?: unknown } | null;
  };
  const contextTokens = [...CONTEXT_FIELDS.map((name) => model[name]), meta?.n_ctx_train].find(
    (value): value is number => Number.isSafeInteger(value) && (value as number) > 0,
  );
  const takes = (value: unknown) => Array.isArray(value) && value.includes('image');
  const sees =
    takes(input) ||
    takes(architecture?.input_modalities) ||
    capabilities?.vision === true ||
    NAMED_FOR_IMAGES.test(id);
  return { id, takesImages: sees, ...(contextTokens !== undefined && { contextTokens }) };
}
