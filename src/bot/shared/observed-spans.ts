const MINUTE_MS = 60_000;

/** A span of time, and how much of it was seen. */
export interface ObservedSpan {
  spanMs: number;
  seenMs: number;
}

/**
 * The spans worth telling of, shortest first, and whether most of each was seen: of one watched for two minutes, what holds
 * in thirty days is nothing that anybody knows. A span of which no more was seen than of a shorter one is left out. Pure.
 */
export function observedSpans<T extends ObservedSpan>(
  spans: readonly T[],
): Array<T & { most: boolean }> {
  let before = 0;
  return spans.flatMap((span) => {
    const more = span.seenMs > before + (before > 0 ? MINUTE_MS : 0);
    if (!more) return [];
    before = span.seenMs;
    return [{ ...span, most: span.seenMs >= span.spanMs / 2 }];
  });
}
