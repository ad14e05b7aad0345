import { z } from 'zod';

const limit = z.int().min(1).optional();
const change = z.int().min(1).nullish();

/**
 * What one API key of the gateway may use; a limit that is absent is none. Tokens are those of prompt and answer together.
 * Our choice: the gateway contract leaves limits and quotas open ("not shown"). Minutes are any 60 seconds, days and months
 * those of the UTC calendar.
 */
export const KeyLimits = z.object({
  requestsPerMinute: limit,
  tokensPerMinute: limit,
  tokensPerDay: limit,
  tokensPerMonth: limit,
});
export type KeyLimits = z.infer<typeof KeyLimits>;

/** The names of the limits, in the order in which they are shown. */
export const LIMIT_NAMES = Object.keys(KeyLimits.shape) as Array<keyof KeyLimits>;

/** Limits to set; `null` clears one, and one that is absent stays as it is. */
export const KeyLimitsChange = z.strictObject({
  requestsPerMinute: change,
  tokensPerMinute: change,
  tokensPerDay: change,
  tokensPerMonth: change,
});
export type KeyLimitsChange = z.infer<typeof KeyLimitsChange>;
