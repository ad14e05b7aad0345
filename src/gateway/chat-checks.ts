import { ErrorCode } from '../contracts/error.ts';
import type { ChatRequest } from '../contracts/gateway.ts';
import { estimatePromptTokens } from '../contracts/tokens.ts';
import { HttpError } from '../http/errors.ts';
import { type Catalog, type TextModel, textModels } from './catalog.ts';
import type { Upstream } from './upstream.ts';

/**
 * The newer name of `max_tokens`, which current clients send, counts as it. `null` means absent and is left out.
 * Source: openai-node, `ChatCompletionCreateParams.max_completion_tokens`.
 */
export function normalize(request: ChatRequest): ChatRequest {
  const { max_completion_tokens: newer, ...rest } = request;
  const given = rest.max_tokens == null && Number.isInteger(newer) ? { max_tokens: newer } : {};
  const unread = newer == null || Number.isInteger(newer) ? {} : { max_completion_tokens: newer };
  return { ...rest, ...given, ...unread } as ChatRequest;
}

/** The text model a request names. Throws the 404 or 400 that says which models can chat. */
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
      `The model '${id}' makes images and cannot chat. ${able}`,
      { param: 'model' },
    );
  }
  throw new HttpError(404, ErrorCode.modelNotFound, `There is no model '${id}'. ${able}`, {
    param: 'model',
  });
}

/** Refuses pictures that the model cannot see. */
export function checkInput(request: ChatRequest, model: TextModel, catalog: Catalog): void {
  if (model.input.includes('image')) return;
  for (const [at, { content }] of request.messages.entries()) {
    if (typeof content === 'string') continue;
    const part = content.findIndex(({ type }) => type !== 'text');
    if (part === -1) continue;
    const able = textModels(catalog).filter(({ input }) => input.includes('image'));
    const hint = able.length > 0 ? ` Use ${able.map(({ id }) => id).join(' or ')}.` : '';
    throw new HttpError(
      400,
      ErrorCode.modelNotSupported,
      `The model '${model.id}' takes text only.${hint}`,
      { param: `messages.${at}.content.${part}` },
    );
  }
}

/** Refuses what cannot fit the model's context; returns the estimate of the prompt, in tokens. */
export function checkContext(request: ChatRequest, model: TextModel): number {
  const prompt = estimatePromptTokens(request.messages);
  const reply = request.max_tokens ?? 1;
  if (prompt + reply <= model.context_length) return prompt;
  const wanted = request.max_tokens == null ? '' : ` and asks for a reply of up to ${reply}`;
  throw new HttpError(
    400,
    ErrorCode.contextLengthExceeded,
    `The conversation is about ${prompt} tokens${wanted}; the model '${model.id}' takes ${model.context_length} for both together. Send less, or use a model with a larger context.`,
    { param: prompt >= model.context_length ? 'messages' : 'max_tokens' },
  );
}

/** The upstreams that take the request's `n`. Our choice: one that takes fewer is passed over, not called `n` times. */
export function checkChoices(
  request: ChatRequest,
  model: TextModel,
  upstreams: readonly Upstream[],
): readonly Upstream[] {
  const n = request.n ?? 1;
  const able = upstreams.filter(({ maxChoices }) => maxChoices >= n);
  if (able.length > 0) return able;
  const most = Math.max(...upstreams.map(({ maxChoices }) => maxChoices));
  throw new HttpError(
    400,
    ErrorCode.invalidValue,
    `The model '${model.id}' gives at most ${most} ${most === 1 ? 'variant' : 'variants'} at once here. Ask with n=${most}, or several times.`,
    { param: 'n' },
  );
}
