/** Steps of Page Up and Page Down. */
const LONG_STEP = 10;

/** Where a key leads in a row of things that are read one at a time; undefined when it leads nowhere. The key is then used up. */
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
