import { DeliveryError } from '../shared/errors.ts';
import type { Alert, Closed, Watching } from './watch-state.ts';

/** What may be asked of a place: to take something new, which is a message or a line, or to change what stands there. */
export type Request = Closed['refused'][number];

/** Wait until a closed place is tried again, doubled with each refusal up to the longest one. */
const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 600_000;

/** Whether a platform said that the place takes nothing, and not only that it does not take this message. */
export const isClosing = (error: unknown): error is DeliveryError =>
  error instanceof DeliveryError && error.closed;

/** What is known of a place that is closed; `undefined` of one that is not. Pure. */
export const closedAt = (watching: Watching | undefined, place: string): Closed | undefined =>
  watching?.closed?.find((one) => one.place === place);

/** What was refused last: the other is tried first, since it may go through. Pure. */
export const refusedLast = ({ refused }: Closed): Request | undefined => refused.at(-1);

/**
 * From when on a closed place may be asked for something about a alert, Unix milliseconds: at once for what it has not
 * refused; sooner than usual for what began after the last try, since somebody may have opened it meanwhile. Pure.
 */
export function tryAtMs(closed: Closed, request: Request, alert: Alert, nowMs: number): number {
  const { refused, triedAtMs, nextTryAtMs } = closed;
  // A longer wait than was ever set means that the clock was set back.
  if (!refused.includes(request) || nextTryAtMs - nowMs > MAX_WAIT_MS) return 0;
  const newestMs = alert.kind === 'group' ? alert.joinedAtMs : alert.openedAtMs;
  return newestMs > triedAtMs ? Math.min(nextTryAtMs, triedAtMs + FIRST_WAIT_MS) : nextTryAtMs;
}

/** The document after a place refused this for as long as nobody opens it. Pure. */
export function withRefusal(
  watching: Watching,
  { place, request }: { place: string; request: Request },
  { nowMs, random }: { nowMs: number; random: () => number },
): Watching {
  const before = closedAt(watching, place);
  const refused = before?.refused ?? [];
  // That it refuses the other, too, comes in the same breath and is no further try.
  const tries = before && !refused.includes(request) ? before.tries : (before?.tries ?? 0) + 1;
  const meantMs = FIRST_WAIT_MS * 2 ** Math.min(tries - 1, 10) * (0.75 + random() / 2);
  const closed: Closed = {
    place,
    sinceMs: before?.sinceMs ?? nowMs,
    refused: [...refused.filter((one) => one !== request), request],
    tries,
    triedAtMs: nowMs,
    nextTryAtMs: nowMs + Math.min(MAX_WAIT_MS, Math.max(FIRST_WAIT_MS, meantMs)),
  };
  return withClosed(watching, [...othersThan(watching, place), closed]);
}

/** The document after a place took what it was asked for: it is open, unless it refused to take anything new. Pure. */
export function withoutRefusal(watching: Watching, place: string, request: Request): Watching {
  const before = closedAt(watching, place);
  if (!before) return watching;
  const others = othersThan(watching, place);
  const staysClosed = request === 'change' && before.refused.includes('new');
  return withClosed(watching, staysClosed ? [...others, { ...before, refused: ['new'] }] : others);
}

/** The document without what is known of a place, which is as if it were open. Pure. */
export const forgotten = (watching: Watching, place: string): Watching =>
  withClosed(watching, othersThan(watching, place));

function withClosed({ closed: _, ...rest }: Watching, closed: readonly Closed[]): Watching {
  return closed.length === 0 ? rest : { ...rest, closed };
}

const othersThan = ({ closed = [] }: Watching, place: string) =>
  closed.filter((one) => one.place !== place);
