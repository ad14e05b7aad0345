import { z } from 'zod';

const limit = z.int().min(1).optional();
const change = z.int().min(1).nullish();

/**
 * Limits of one API key of the gateway; an absent limit doesn't apply. Tokens of prompt and answer count together.
 * Our choice: the gateway contract leaves limits and quotas open ("not shown"). A minute is any 60 seconds; days and months
 * follow the UTC calendar.
 */
export const KeyLimits = z.object({
  requestsPerMinute: limit,
  tokensPerMinute: limit,
  tokensPerDay: limit,
  tokensPerMonth: limit,
});
export type KeyLimits = z.infer<typeof KeyLimits>;

/** Names of the limits, in display order. */
export const LIMIT_NAMES = Object.keys(KeyLimits.shape) as Array<keyof KeyLimits>;

/** Limits to set; `null` clears one, and an absent one stays as it is. */
export const KeyLimitsChange = z.strictObject({
  requestsPerMinute: change,
  tokensPerMinute: change,
  tokensPerDay: change,
  tokensPerMonth: change,
});
export type KeyLimitsChange = z.infer<typeof KeyLimitsChange>;
