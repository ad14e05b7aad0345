/** The channel that always exists. */
export const FIRST_CHANNEL = 'general';
