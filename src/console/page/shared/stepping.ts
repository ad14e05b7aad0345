const LONG_STEP = 10;

/** Returns the next position for a key of a slider, and prevents the key's default; undefined for other keys. */
export function stepOfKey(event: KeyboardEvent, at: number, last: number): number | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey) return undefined;
  const steps: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - LONG_STEP,
    PageUp: at + LONG_STEP,
    Home: 0,
    End: last,
  };
  const next = steps[event.key];
  if (next === undefined) return undefined;
  event.preventDefault();
  return Math.max(0, Math.min(last, next));
}
