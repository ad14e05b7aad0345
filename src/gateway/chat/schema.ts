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

/** On every answer to a key that has the limit. */
const limitHeaders: Record<string, Header> = {
  [LimitHeader.limitRequests]: {
    description: 'Requests the key may make a minute.',
    schema: whole,
  },
  [LimitHeader.remainingRequests]: { description: 'Requests left of them.', schema: whole },
  [LimitHeader.resetRequests]: {
    description: 'Until all of them are free again, such as `12ms`, `8.64s` or `6m0s`.',
    schema: words,
  },
  [LimitHeader.limitTokens]: { description: 'Tokens the key may use a minute.', schema: whole },
  [LimitHeader.remainingTokens]: { description: 'Tokens left of them.', schema: whole },
  [LimitHeader.resetTokens]: {
    description: 'Until all of them are free again, such as `12ms`, `8.64s` or `6m0s`.',
    schema: words,
  },
};

const noRetryHeader: Record<string, Header> = {
  'x-should-retry': { description: '`false` where trying again cannot help.', schema: words },
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

/** How the OpenAPI document describes POST /v1/chat/completions. */
export const chatSchema = {
  operationId: 'createChatCompletion',
  summary: 'Create a reply for a conversation',
  description:
    'Fields that are not named here are passed on to the provider as they are; `null` is as good as absent.',
  tags: ['gateway'],
  security: [{ bearer: [] }],
  body: ChatRequest,
  components: { ChatRequest, ChatCompletion, ChatCompletionChunk },
  answers: {
    ...keyAnswers,
    200: {
      description: 'The reply: whole, or with `stream: true` as events while it is written.',
      headers: {
        ...limitHeaders,
        [UPSTREAM_HEADER]: {
          description:
            'Which upstream answered, as `provider/model`; of a stream only where it had begun to answer before the first comment went out.',
          schema: words,
        },
        [ParameterHeader.dropped]: {
          description:
            'Parameters that the model does not take and that were left out, such as `temperature,top_p`; a request with `x-askwatch-strict: true` is refused instead.',
          schema: words,
        },
      },
      content: {
        'application/json': { schema: ChatCompletion },
        [EVENT_STREAM]: {
          schema: {
            type: 'string',
            description:
              'One `data:` event with a ChatCompletionChunk each, then `data: [DONE]`; lines that begin with a colon are comments. A stream that broke has an event with an ErrorBody instead, no `[DONE]`, and its connection is cut.',
          },
          example: STREAM_EXAMPLE,
        },
      },
    },
    400: refusal(
      'The body is no valid JSON, a parameter is wrong (`param` names it), the model cannot do this, or the conversation is too long for it; or the provider refused the request.',
      noRetryHeader,
    ),
    404: refusal('There is no such model.'),
    408: 'The request did not come in time.',
    413: refusal('The body is larger than 8 MiB, or than the provider takes.', noRetryHeader),
    415: refusal('The body is not sent as `application/json`.'),
    422: refusal('The provider understood the request and refused it.', noRetryHeader),
    429: refusal(
      'A limit of the key or of the provider is reached (`rate_limit_exceeded`), the key has used up its budget (`insufficient_quota`), or too many requests without a valid key came from this address.',
      { ...rateLimitHeaders, ...retryAfterHeader, ...noRetryHeader },
    ),
    500: refusal(keyAnswers[500]),
    502: refusal(
      'No provider gave an answer that can be used: it could not be reached, failed, or refused this gateway itself.',
      noRetryHeader,
    ),
    503: refusal(
      'The provider is overloaded or down, or the gateway is stopping.',
      retryAfterHeader,
    ),
    504: refusal('The provider took too long to answer.'),
  },
};
