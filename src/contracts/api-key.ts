/** A prefix that names the service, and 40 random characters. Source: both contracts, "Authentication". Our choice: the prefixes. */
export const KeyPrefix = { gateway: 'awg_', monitoring: 'awm_' } as const;
export type KeyedService = keyof typeof KeyPrefix;

export const KEY_RANDOM_LENGTH = 40;

/** Finds keys inside a longer text, such as a log line. */
export const KEY_PATTERN = /\baw[gm]_[A-Za-z0-9]{40}\b/g;
