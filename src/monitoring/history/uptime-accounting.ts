/**
 * A result as far as time goes: from `atMs` on the monitor was so, until the next one, but at most for `worthMs`. An unconfirmed
 * failure was down if the next result within that time says so, and unseen if not.
 */
export interface Snapshot {
  atMs: number;
  worthMs: number;
  as: 'up' | 'down' | 'unseen' | 'unconfirmed';
}

/** A time in which a monitor was up or down all the while. */
export interface Span {
  fromMs: number;
  toMs: number;
  as: 'up' | 'down';
}

/** Most spans that a tally knows one by one. */
const MAX_SPANS = 60;

/** What was seen in a minute, hour or day. Response times are of the checks that passed, 0 when none did. */
export interface Tally {
  startMs: number;
  /** When it was up and down, oldest first; undefined where that is not known, or changed too often to be kept. */
  spans: Span[] | undefined;
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
  /** Up to here every moment has been counted; while a failure is unconfirmed, at most up to it. */
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
  const failedMs = unconfirmedMs(time, atMs);
  if (failedMs !== undefined && snapshot.as === 'unconfirmed') {
    const worthMs = atMs + snapshot.worthMs - failedMs;
    time.last = put(time.last, failedMs, { ...snapshot, worthMs });
  } else {
    if (failedMs === undefined) countUntil(time, atMs);
    else if (snapshot.as === 'down') addSpan(time, 'down', failedMs, atMs);
    time.countedMs = atMs;
    time.last = put(time.last, atMs, snapshot);
  }
  const tally = tallyAt(time, atMs);
  tally.last = put(tally.last, atMs, snapshot);
  if (!check) return;
  tally.checks += 1;
  if (check.ok) addResponseTime(tally, check.responseTimeMs);
  else tally.failures += 1;
}

/** Counts the time up to a moment as what the last snapshot says; what is unconfirmed by then is not counted. */
export function countUntil(time: UptimeAccount, toMs: number): void {
  const { last } = time;
  if (unconfirmedMs(time, toMs) !== undefined) return;
  if (last?.as === 'up' || last?.as === 'down') {
    const fromMs = Math.max(time.countedMs, last.atMs);
    addSpan(time, last.as, fromMs, Math.min(toMs, last.atMs + last.worthMs));
  }
  time.countedMs = Math.max(time.countedMs, toMs);
}

/** Since when failures are unconfirmed that a result at this moment could confirm. */
function unconfirmedMs({ last, countedMs }: UptimeAccount, nowMs: number): number | undefined {
  if (last?.as !== 'unconfirmed' || nowMs > last.atMs + last.worthMs) return undefined;
  return Math.max(last.atMs, countedMs);
}

/** The end of the pieces that no later result can change, when those up to `dueMs` are asked for. */
export function finalBoundary(time: UptimeAccount, dueMs: number): number {
  return Math.min(dueMs, floorTo(unconfirmedMs(time, dueMs) ?? dueMs, time.lengthMs));
}

function addSpan(time: UptimeAccount, as: Span['as'], fromMs: number, toMs: number): void {
  let startMs = fromMs;
  while (startMs < toMs) {
    const tally = tallyAt(time, startMs);
    const endMs = Math.min(toMs, tally.startMs + time.lengthMs);
    if (as === 'up') tally.upMs += endMs - startMs;
    else tally.downMs += endMs - startMs;
    extend(tally, { fromMs: startMs, toMs: endMs, as });
    startMs = endMs;
  }
}

function extend(tally: OpenTally, span: Span): void {
  const last = tally.spans?.at(-1);
  if (last?.as === span.as && last.toMs === span.fromMs) last.toMs = span.toMs;
  else if (tally.spans && tally.spans.length < MAX_SPANS) tally.spans.push(span);
  else tally.spans = undefined;
}

/** How long it was up and down in a part of a tally of this length; in proportion where its spans are not known. */
export function seenWithin(
  tally: Tally & { lengthMs: number },
  part: { fromMs: number; toMs: number },
): { upMs: number; downMs: number } {
  const { startMs, lengthMs, spans, upMs, downMs } = tally;
  const overlapMs = (fromMs: number, toMs: number) =>
    Math.max(0, Math.min(toMs, part.toMs) - Math.max(fromMs, part.fromMs));
  const share = overlapMs(startMs, startMs + lengthMs) / lengthMs;
  if (share === 1) return { upMs, downMs };
  if (!spans) return { upMs: Math.round(upMs * share), downMs: Math.round(downMs * share) };
  const total = (wanted: Span['as']) =>
    spans.reduce(
      (ms, { as, fromMs, toMs }) => (as === wanted ? ms + overlapMs(fromMs, toMs) : ms),
      0,
    );
  return { upMs: total('up'), downMs: total('down') };
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
    first.spans = shared?.spans && first.spans && joined(shared.spans, first.spans);
  }
  time.tallies = [...before.tallies, ...own];
  if (own.length === 0) time.last = before.last;
  time.countedMs = Math.max(time.countedMs, from.countedMs);
}

/** Spans and those after them; one that goes on where the other ends is one. */
function joined(before: readonly Span[], after: readonly Span[]): Span[] {
  const last = before.at(-1);
  const [first, ...rest] = after;
  if (!last || last.as !== first?.as || last.toMs !== first.fromMs) return [...before, ...after];
  return [...before.slice(0, -1), { ...last, toMs: first.toMs }, ...rest];
}

/** The tallies as they would be at a moment; counts nothing. */
export function talliesAt(time: UptimeAccount, nowMs: number): Tally[] {
  const tallies = time.tallies.map((tally) => ({
    ...tally,
    spans: tally.spans?.map((span) => ({ ...span })),
  }));
  const copy = { ...time, tallies };
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
    spans: undefined,
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
    spans: [],
    checks: 0,
    failures: 0,
    upMs: 0,
    downMs: 0,
    minMs: 0,
    sumMs: 0,
    maxMs: 0,
    last: undefined,
  };
  if (last && last.startMs > startMs) return earlierTally(time, tally);
  if (time.tallies.length < FEW_TALLIES) time.tallies = [...time.tallies, tally];
  else time.tallies.push(tally);
  return tally;
}

/** The tally of a time before the last one: a failure that was confirmed hours later. */
function earlierTally(time: UptimeAccount, tally: OpenTally): OpenTally {
  const place = time.tallies.findIndex(({ startMs }) => startMs >= tally.startMs);
  const known = time.tallies[place];
  if (known?.startMs === tally.startMs) return known;
  time.tallies.splice(place, 0, tally);
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
