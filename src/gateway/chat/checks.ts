import { ErrorCode } from '../../contracts/error.ts';
import type { ChatRequest } from '../../contracts/gateway.ts';
import { HttpError } from '../../http/errors.ts';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog, TextModel } from '../catalog/catalog-schema.ts';

/**
 * Replaces `max_completion_tokens`, the newer name that current clients send, by `max_tokens`, and drops an empty list of
 * stop sequences.
 * Source: openai-node, `ChatCompletionCreateParams.max_completion_tokens`.
 */
export function normalize(request: ChatRequest): ChatRequest {
  if (!('max_completion_tokens' in request) && request.stop?.length !== 0) return request;
  const { max_completion_tokens, ...rest } = request;
  return {
    ...rest,
    ...(max_completion_tokens != null && {
      max_tokens: rest.max_tokens ?? max_completion_tokens,
    }),
    ...(rest.stop?.length === 0 && { stop: null }),
  };
}

/** Finds the text model that a request names. Throws the 404 or 400 that lists the models that can chat. */
export function findTextModel(catalog: Catalog, id: string): TextModel {
  const model = catalog.models.find((known) => known.id === id);
  if (model?.kind === 'text') return model;
  const able = `These models can chat: ${textModels(catalog)
    .map((text) => text.id)
    .join(', ')}.`;
  if (model) {
    throw new HttpError(
      400,
      ErrorCode.modelNotSupported,
      `The model '${id}' generates images and can't chat. ${able}`,
      { param: 'model' },
    );
  }
  throw new HttpError(
    404,
    ErrorCode.modelNotFound,
    `Unknown model '${id.slice(0, 100)}'. ${able}`,
    {
      param: 'model',
    },
  );
}

/** Refuses a model that no provider serves. A repeat can't help, only the operator can. */
export function checkServed(why: string | undefined): void {
  if (why === undefined) return;
  throw new HttpError(503, ErrorCode.unavailable, why, {
    param: 'model',
    headers: { 'x-should-retry': 'false' },
  });
}

/** Refuses pictures for a model that can't see them. Providers decide about files and sound themselves. */
export function checkInput(request: ChatRequest, model: TextModel, catalog: Catalog): void {
  if (model.input.includes('image')) return;
  for (const [at, { content }] of request.messages.entries()) {
    if (typeof content === 'string' || content == null) continue;
    const part = content.findIndex(({ type }) => type === 'image_url');
    if (part === -1) continue;
    const able = textModels(catalog).filter(({ input }) => input.includes('image'));
    const hint =
      able.length > 0 ? ` For images, use ${able.map(({ id }) => id).join(' or ')}.` : '';
    throw new HttpError(
      400,
      ErrorCode.modelNotSupported,
      `The model '${model.id}' accepts text only.${hint}`,
      { param: `messages.${at}.content.${part}` },
    );
  }
}

/** Refuses a request that is too long for the context. Calls `estimate` only if the size of the body leaves a doubt. */
export function checkContext(
  request: ChatRequest,
  model: Pick<TextModel, 'id' | 'input' | 'context_length'>,
  bodyBytes: number,
  estimate: () => number,
): void {
  const reply = request.max_tokens ?? 1;
  // A token has at least one byte, but a picture's address may be shorter than its tokens.
  const certain = !model.input.includes('image') && bodyBytes + reply <= model.context_length;
  if (certain) return;
  const prompt = Math.ceil(estimate());
  if (prompt + reply <= model.context_length) return;
  const what = request.tools == null ? 'The conversation' : 'The conversation with its tools';
  const wanted = request.max_tokens == null ? '' : ` and asks for a reply of up to ${reply}`;
  throw new HttpError(
    400,
    ErrorCode.contextLengthExceeded,
    `${what} is about ${prompt} tokens${wanted}. The model '${model.id}' accepts ${model.context_length} for prompt and reply together. Send less, or use a model with a larger context.`,
    { param: prompt >= model.context_length ? 'messages' : 'max_tokens' },
  );
}
