import { z } from 'zod';

/** Body of every error of both services. Our choice, because the contracts leave it open: the form that chat-completions clients read. */
export const ErrorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    /** The request field at fault, as a path such as `messages.2.role`; null when none is. */
    param: z.string().nullish(),
    code: z.string().nullish(),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** Our choice: names that OpenAI-style clients know, where there are any. */
export const ErrorCode = {
  invalidRequest: 'invalid_request',
  invalidJson: 'invalid_json',
  invalidValue: 'invalid_value',
  missingField: 'missing_required_parameter',
  unknownField: 'unknown_parameter',
  unsupportedParameter: 'unsupported_parameter',
  missingKey: 'missing_api_key',
  invalidKey: 'invalid_api_key',
  conflictingKeys: 'conflicting_api_keys',
  notFound: 'not_found',
  methodNotAllowed: 'method_not_allowed',
  modelNotFound: 'model_not_found',
  modelNotSupported: 'model_not_supported',
  contextLengthExceeded: 'context_length_exceeded',
  requestTimeout: 'request_timeout',
  bodyTooLarge: 'request_too_large',
  unsupportedMediaType: 'unsupported_media_type',
  rateLimited: 'rate_limit_exceeded',
  insufficientQuota: 'insufficient_quota',
  targetNotAllowed: 'target_not_allowed',
  limitReached: 'limit_reached',
  conflict: 'conflict',
  unknownCursor: 'unknown_cursor',
  idempotencyMismatch: 'idempotency_key_reused',
  unavailable: 'service_unavailable',
  upstreamError: 'upstream_error',
  upstreamTimeout: 'upstream_timeout',
  internal: 'internal_error',
} as const;
