/** Periods of usage in days, today included. */
export const SPANS = [7, 30, 90] as const;
export type DaySpan = (typeof SPANS)[number];

/** Days of usage in the list of keys. */
export const LISTED_DAYS = 30;

/** Keys or models with a colour of their own in the chart. More colours would look alike. */
export const MAX_GROUPS = 6;
