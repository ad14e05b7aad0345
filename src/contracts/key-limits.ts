import { z } from 'zod';

const limit = z.int().min(1).optional();
const change = z.int().min(1).nullish();

/** Limits of a gateway key, with tokens of prompt and answer. Our choice: a minute is any 60 seconds, a day or month is UTC. */
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
