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

/** Names of listed models that can't chat. */
const NO_CHAT =
  /embed|rerank|whisper|transcri|moderation|dall-e|stable-diffusion|(?:^|[-_/])(?:tts|ocr|image)(?:[-_.:]|$)/i;

/** Names of models that accept pictures. */
const NAMED_FOR_IMAGES = /vision|llava|pixtral|(?:^|[-_/\d])vl(?:[-_.:]|$)/i;

/** Fields with a model's context: of OpenRouter, vLLM, Groq, LM Studio and Mistral, and Anthropic, in this order. */
const CONTEXT_FIELDS = [
  'context_length',
  'max_model_len',
  'context_window',
  'max_context_length',
  'max_input_tokens',
];

const ListedModel = z.looseObject({ id: z.string().min(1).max(500) });
const ModelsPage = z.object({ data: z.array(z.unknown()).nullable() });

/**
 * Fetches the models of a service within `timeoutMs`. Throws an error whose message says why there are none, and quotes
 * nothing from the service.
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
      dispatcher,
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

/** Returns the chat models of a list, the largest context first; `undefined` if the text isn't a list. Pure. */
export function readServedModels(text: string): ServedModel[] | undefined {
  let content: unknown;
  try {
    content = parseUntrustedJson(text, { ...JSON_LIMITS, values: LIST_LIMIT_VALUES });
  } catch {
    return undefined;
  }
  const list = ModelsPage.safeParse(content);
  if (!list.success) return undefined;
  const served = (list.data.data ?? []).flatMap((item) => {
    const listed = ListedModel.safeParse(item);
    return listed.success && canChat(listed.data) ? [describe(listed.data)] : [];
  });
  return served.sort((a, b) => (b.contextTokens ?? 0) - (a.contextTokens ?? 0));
}

/** Another Askwatch lists the kind and availability of its models. */
function canChat({ id, kind, available }: z.infer<typeof ListedModel>): boolean {
  return kind !== 'image' && available !== false && !NO_CHAT.test(id);
}

function describe(model: z.infer<typeof ListedModel>): ServedModel {
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
  return { id, takesImages: sees, contextTokens };
}
