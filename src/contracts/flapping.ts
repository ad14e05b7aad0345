/**
 * A monitor is flapping from the third change to DOWN within 15 minutes, until 15 minutes have passed without a change to or from DOWN.
 * Our choice. The monitoring service and the bot apply it to what each sees: the bot also watches services without a `flapping` field.
 */
export const FLAPPING_DOWNS = 3;
export const FLAPPING_MS = 15 * 60_000;
