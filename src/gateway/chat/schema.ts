import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  LimitHeader,
  ParameterHeader,
  UPSTREAM_HEADER,
} from '../../contracts/gateway.ts';
import { EVENT_STREAM } from '../../contracts/server-sent-events.ts';
import type { Header } from '../../http/openapi.ts';
import { keyAnswers, rateLimitHeaders, retryAfterHeader } from '../../http/shared-answers.ts';

const whole = { type: 'integer' } as const;
const words = { type: 'string' } as const;

/** Headers of every answer to a key that has the limit. */
const limitHeaders: Record<string, Header> = {
  [LimitHeader.limitRequests]: {
    description: 'Requests per minute that the key may make.',
    schema: whole,
  },
  [LimitHeader.remainingRequests]: { description: 'Requests remaining.', schema: whole },
  [LimitHeader.resetRequests]: {
    description: 'Time until the full limit is available again, such as `12ms`, `8.64s` or `6m0s`.',
    schema: words,
  },
  [LimitHeader.limitTokens]: {
    description: 'Tokens per minute that the key may use.',
    schema: whole,
  },
  [LimitHeader.remainingTokens]: { description: 'Tokens remaining.', schema: whole },
  [LimitHeader.resetTokens]: {
    description: 'Time until the full limit is available again, such as `12ms`, `8.64s` or `6m0s`.',
    schema: words,
  },
};

const noRetryHeader: Record<string, Header> = {
  'x-should-retry': { description: "`false` if a retry can't help.", schema: words },
};

const STREAM_EXAMPLE = [
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795237798,"model":"fast-8k","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}',
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795237798,"model":"fast-8k","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  '[DONE]',
]
  .map((data) => `data: ${data}\n\n`)
  .join('');

const refusal = (description: string, headers: Record<string, Header> = {}) => ({
  description,
  headers: { ...limitHeaders, ...headers },
});

/** POST /v1/chat/completions in the OpenAPI document. */
export const chatSchema = {
  operationId: 'createChatCompletion',
  summary: 'Create a reply for a conversation',
  description:
    'Fields not listed here are passed to the provider unchanged. `null` counts as absent.',
  tags: ['gateway'],
  security: [{ bearer: [] }],
  body: ChatRequest,
  components: { ChatRequest, ChatCompletion, ChatCompletionChunk },
  answers: {
    ...keyAnswers,
    200: {
      description:
        'The reply: one JSON object or, with `stream: true`, events while it is generated.',
      headers: {
        ...limitHeaders,
        [UPSTREAM_HEADER]: {
          description:
            'The upstream that answered, as `provider/model`. Missing from a stream if the first comment was sent before the upstream began to answer.',
          schema: words,
        },
        [ParameterHeader.dropped]: {
          description:
            "Parameters that were left out because the model doesn't support them, such as `temperature,top_p`. A request with `x-askwatch-strict: true` is refused instead.",
          schema: words,
        },
      },
      content: {
        'application/json': { schema: ChatCompletion },
        [EVENT_STREAM]: {
          schema: {
            type: 'string',
            description:
              'Each `data:` event holds one ChatCompletionChunk; the last event is `data: [DONE]`. Lines that begin with a colon are comments. A stream that breaks off ends with an ErrorBody event instead of `[DONE]`, and its connection is closed.',
          },
          example: STREAM_EXAMPLE,
        },
      },
    },
    400: refusal(
      "The body isn't valid JSON, a parameter is wrong (`param` names it), the model can't do this, the conversation is too long for it, or the provider refused the request.",
      noRetryHeader,
    ),
    404: refusal('Unknown model.'),
    408: 'The request did not arrive in time.',
    413: refusal(
      'The body is larger than 8 MiB, or larger than the provider accepts.',
      noRetryHeader,
    ),
    415: refusal('The Content-Type is not `application/json`.'),
    422: refusal('The provider understood the request and refused it.', noRetryHeader),
    429: refusal(
      'The key or the provider has reached a limit (`rate_limit_exceeded`), the key has used up its budget (`insufficient_quota`), or too many requests without a valid key came from this address.',
      { ...rateLimitHeaders, ...retryAfterHeader, ...noRetryHeader },
    ),
    500: refusal(keyAnswers[500]),
    502: refusal(
      'No provider returned a usable answer: it could not be reached, failed, or rejected the gateway.',
      noRetryHeader,
    ),
    503: refusal(
      'The provider is overloaded or down, no provider serves the model, or the gateway is stopping.',
      retryAfterHeader,
    ),
    504: refusal('The provider took too long to answer.'),
  },
};
