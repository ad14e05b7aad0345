/**
 * How keys look: a fixed prefix and 40 random characters.
 * Source: gateway contract, "Authentication" 2; monitoring contract, "Authentication" 3.
 * Our choice: the prefixes name the service, so that a key pasted in the wrong place is recognised.
 */
export const KeyPrefix = { gateway: 'awg_', monitoring: 'awm_' } as const;
export type KeyedService = keyof typeof KeyPrefix;

/** Random characters after the prefix. */
export const KEY_RANDOM_LENGTH = 40;

/** Matches any Askwatch key inside a longer text; logs are cleaned with it. */
export const KEY_PATTERN = /\baw[gm]_[A-Za-z0-9]{40}\b/g;
