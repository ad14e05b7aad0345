import { RateLimitHeader } from '../contracts/rate-limit.ts';
import type { Answers, Header } from './openapi.ts';

const whole = { type: 'integer' } as const;

export const rateLimitHeaders: Record<string, Header> = {
  [RateLimitHeader.limit]: { description: 'Requests allowed in any 60 seconds.', schema: whole },
  [RateLimitHeader.remaining]: { description: 'Requests remaining.', schema: whole },
  [RateLimitHeader.reset]: {
    description: 'Seconds until the oldest counted request expires.',
    schema: whole,
  },
};
export const retryAfterHeader: Record<string, Header> = {
  [RateLimitHeader.retryAfter]: {
    description: 'When to try again: a number of seconds, or a date.',
    schema: { type: 'string' },
  },
};

/** Error responses of every route that needs an API key. */
export const keyAnswers = {
  401: {
    description: 'The key is missing, unknown or revoked, or the request has two different keys.',
    headers: {
      'www-authenticate': { description: 'How to send a key.', schema: { type: 'string' } },
      ...rateLimitHeaders,
    },
  },
  500: 'Something went wrong in the service. Its log has the details under the x-request-id.',
} as const satisfies Answers;

/** Adds the 429 for routes without their own limit: attempts with a wrong key are counted by address. */
export const keyOnlyAnswers = {
  ...keyAnswers,
  429: {
    description: 'Too many requests without a valid key came from this address.',
    headers: { ...rateLimitHeaders, ...retryAfterHeader },
  },
} as const satisfies Answers;
