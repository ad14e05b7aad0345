/** A result as far as time goes: from `atMs` on the monitor was so, until the next one, but at most for `worthMs`. */
export interface Snapshot {
  atMs: number;
  worthMs: number;
  as: 'up' | 'down' | 'unseen';
}

/** What was seen in a minute, hour or day. Response times are of the checks that passed, 0 when none did. */
export interface Tally {
  startMs: number;
  checks: number;
  failures: number;
  upMs: number;
  downMs: number;
  minMs: number;
  sumMs: number;
  maxMs: number;
}

/** A tally that is still being counted, with the last snapshot in it. */
interface OpenTally extends Tally {
  last: Snapshot | undefined;
}

/**
 * The time of one monitor as it is counted, in pieces of `lengthMs`. It never goes back: a snapshot from before what is
 * counted already counts from there. So no moment counts twice, and up + down + unseen = elapsed.
 */
export interface UptimeAccount {
  readonly lengthMs: number;
  last: Snapshot | undefined;
  /** Up to here every moment has been counted. */
  countedMs: number;
  /** Oldest first, with gaps where nothing was seen. */
  tallies: OpenTally[];
}

export function startAccount(from: {
  lengthMs: number;
  countedMs: number;
  last: Snapshot | undefined;
}): UptimeAccount {
  const { lengthMs, countedMs, last } = from;
  // Written out: V8 gives each copy of an object that is then altered a shape of its own, which takes 230 bytes.
  return { lengthMs, countedMs, last: last && { ...last }, tallies: [] };
}

/** Takes in a snapshot, and the check it comes from if it comes from one. */
export function addSnapshot(
  time: UptimeAccount,
  snapshot: Snapshot,
  check?: { ok: boolean; responseTimeMs: number },
): void {
  const atMs = Math.max(snapshot.atMs, time.countedMs);
  countUntil(time, atMs);
  time.last = put(time.last, atMs, snapshot);
  const tally = tallyAt(time, atMs);
  tally.last = put(tally.last, atMs, snapshot);
  if (!check) return;
  tally.checks += 1;
  if (check.ok) addResponseTime(tally, check.responseTimeMs);
  else tally.failures += 1;
}

/** Counts the time up to a moment as what the last snapshot says. */
export function countUntil(time: UptimeAccount, toMs: number): void {
  const { last, lengthMs } = time;
  const endMs = last ? Math.min(toMs, last.atMs + last.worthMs) : Number.NEGATIVE_INFINITY;
  let fromMs = Math.max(time.countedMs, last?.atMs ?? 0);
  while (last && last.as !== 'unseen' && fromMs < endMs) {
    const tally = tallyAt(time, fromMs);
    const untilMs = Math.min(endMs, tally.startMs + lengthMs);
    if (last.as === 'up') tally.upMs += untilMs - fromMs;
    else tally.downMs += untilMs - fromMs;
    fromMs = untilMs;
  }
  time.countedMs = Math.max(time.countedMs, toMs);
}

/**
 * Puts what came before to a time that was counted on its own from `firstMs` on: what was counted of the time before
 * `from.countedMs` goes, and its last snapshot is worth until the first one here.
 */
export function putBefore(
  time: UptimeAccount,
  from: { lengthMs: number; countedMs: number; last: Snapshot | undefined },
  firstMs: number,
): void {
  const before = startAccount(from);
  const own = time.tallies.filter(({ startMs }) => startMs >= from.countedMs);
  if (time.last) countUntil(before, firstMs);
  const [first] = own;
  if (first && before.tallies.at(-1)?.startMs === first.startMs) {
    const shared = before.tallies.pop();
    first.upMs += shared?.upMs ?? 0;
    first.downMs += shared?.downMs ?? 0;
  }
  time.tallies = [...before.tallies, ...own];
  if (own.length === 0) time.last = before.last;
  time.countedMs = Math.max(time.countedMs, from.countedMs);
}

/** The tallies as they would be at a moment; counts nothing. */
export function talliesAt(time: UptimeAccount, nowMs: number): Tally[] {
  const copy = { ...time, tallies: time.tallies.map((tally) => ({ ...tally })) };
  countUntil(copy, nowMs);
  return copy.tallies;
}

/** The last snapshot before a moment that a tally begins with, as far as the tallies still tell. */
export function lastBefore(time: UptimeAccount, boundaryMs: number): Snapshot | undefined {
  return time.tallies.findLast(({ startMs, last }) => startMs < boundaryMs && last)?.last;
}

/** Two tallies as one, which starts with the first. */
export function addTallies(a: Tally, b: Tally): Tally {
  const passedA = a.checks > a.failures;
  const passedB = b.checks > b.failures;
  return {
    startMs: a.startMs,
    checks: a.checks + b.checks,
    failures: a.failures + b.failures,
    upMs: a.upMs + b.upMs,
    downMs: a.downMs + b.downMs,
    minMs: passedA && passedB ? Math.min(a.minMs, b.minMs) : passedA ? a.minMs : b.minMs,
    sumMs: a.sumMs + b.sumMs,
    maxMs: Math.max(a.maxMs, b.maxMs),
  };
}

/** Tallies put together to longer ones, which start at multiples of `lengthMs`. Oldest first, as they come. */
export function gather(tallies: readonly Tally[], lengthMs: number): Tally[] {
  const gathered: Tally[] = [];
  for (const tally of tallies) {
    const startMs = floorTo(tally.startMs, lengthMs);
    const last = gathered.at(-1);
    if (last?.startMs === startMs) gathered[gathered.length - 1] = addTallies(last, tally);
    else gathered.push({ ...tally, startMs });
  }
  return gathered;
}

/** The multiple of a length at or before a moment. */
export function floorTo(atMs: number, lengthMs: number): number {
  return Math.floor(atMs / lengthMs) * lengthMs;
}

/** Most accounts hold one or two, and an array that is pushed to gets room for 16 more. */
const FEW_TALLIES = 3;

function tallyAt(time: UptimeAccount, atMs: number): OpenTally {
  const startMs = floorTo(atMs, time.lengthMs);
  const last = time.tallies[time.tallies.length - 1];
  if (last?.startMs === startMs) return last;
  const tally: OpenTally = {
    startMs,
    checks: 0,
    failures: 0,
    upMs: 0,
    downMs: 0,
    minMs: 0,
    sumMs: 0,
    maxMs: 0,
    last: undefined,
  };
  if (time.tallies.length < FEW_TALLIES) time.tallies = [...time.tallies, tally];
  else time.tallies.push(tally);
  return tally;
}

/**
 * Puts a snapshot in the place of the one before. A new object each time would live just long enough to be costly garbage: a
 * start that reads a million results took a hundred megabytes more.
 */
function put(place: Snapshot | undefined, atMs: number, { worthMs, as }: Snapshot): Snapshot {
  if (!place) return { atMs, worthMs, as };
  place.atMs = atMs;
  place.worthMs = worthMs;
  place.as = as;
  return place;
}

function addResponseTime(tally: Tally, tookMs: number) {
  const isFirst = tally.checks - tally.failures === 1;
  tally.minMs = isFirst ? tookMs : Math.min(tally.minMs, tookMs);
  tally.sumMs += tookMs;
  tally.maxMs = Math.max(tally.maxMs, tookMs);
}
