/** The spans that usage is shown for, in days, today included. */
export const SPANS = [7, 30, 90] as const;
export type Span = (typeof SPANS)[number];

/** Days that the list of keys tells the use of. */
export const LISTED_DAYS = 30;

/** Keys or models that a chart shows by themselves; as many as colours can be told apart. */
export const MAX_GROUPS = 6;
