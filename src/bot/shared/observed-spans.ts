const MINUTE_MS = 60_000;

/** A span of time, and the part in which a monitor was watched. */
export interface ObservedSpan {
  spanMs: number;
  seenMs: number;
}

/** Leaves out spans that were not watched for longer than the one before. `most` is true if half of the span was watched. Pure. */
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
