/**
 * The status after a result: it counts from `atMs` until the next result, but at most for `worthMs`. The time after an unconfirmed
 * failure counts as down if the next result within `worthMs` is down, and as not monitored otherwise.
 */
export interface StatusSince {
  atMs: number;
  worthMs: number;
  as: 'up' | 'down' | 'unseen' | 'unconfirmed';
}

/** A time during which a monitor was up, or down, without a break. */
export interface UpSpan {
  fromMs: number;
  toMs: number;
  as: 'up' | 'down';
}

/** A tally with more spans keeps none. */
const MAX_SPANS = 60;

/** The time and checks of a minute, hour or day. Response times only count checks that passed; 0 if none did. */
export interface Tally {
  startMs: number;
  /** Times up and down, oldest first; undefined if unknown or too many to keep. */
  spans: UpSpan[] | undefined;
  checks: number;
  failures: number;
  upMs: number;
  downMs: number;
  minMs: number;
  sumMs: number;
  maxMs: number;
}

/** A tally that is still being counted, with its last snapshot. */
interface OpenTally extends Tally {
  last: StatusSince | undefined;
}

/**
 * Counts one monitor's time in tallies of `lengthMs`. It never goes back: a snapshot that is earlier than `countedMs` counts from
 * there. So no moment counts twice, and up + down + not monitored = elapsed.
 */
export interface UptimeAccount {
  readonly lengthMs: number;
  last: StatusSince | undefined;
  /** Everything earlier is counted; it doesn't pass an unconfirmed failure. */
  countedMs: number;
  /** Oldest first, with gaps where nothing was monitored. */
  tallies: OpenTally[];
}

export function startAccount(from: {
  lengthMs: number;
  countedMs: number;
  last: StatusSince | undefined;
}): UptimeAccount {
  const { lengthMs, countedMs, last } = from;
  return { lengthMs, countedMs, last: last && { ...last }, tallies: [] };
}

/** Counts a snapshot, and its check if there was one. */
export function addSnapshot(
  time: UptimeAccount,
  snapshot: StatusSince,
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

/** Counts the time up to a moment by the last snapshot, unless that is unconfirmed. */
export function countUntil(time: UptimeAccount, toMs: number): void {
  const { last } = time;
  if (unconfirmedMs(time, toMs) !== undefined) return;
  if (last?.as === 'up' || last?.as === 'down') {
    const fromMs = Math.max(time.countedMs, last.atMs);
    addSpan(time, last.as, fromMs, Math.min(toMs, last.atMs + last.worthMs));
  }
  time.countedMs = Math.max(time.countedMs, toMs);
}

/** The start of unconfirmed failures that a result at this moment could still confirm. */
function unconfirmedMs({ last, countedMs }: UptimeAccount, nowMs: number): number | undefined {
  if (last?.as !== 'unconfirmed' || nowMs > last.atMs + last.worthMs) return undefined;
  return Math.max(last.atMs, countedMs);
}

/** The end of the tallies up to `dueMs` that no later result can change. */
export function finalBoundary(time: UptimeAccount, dueMs: number): number {
  return Math.min(dueMs, floorTo(unconfirmedMs(time, dueMs) ?? dueMs, time.lengthMs));
}

function addSpan(time: UptimeAccount, as: UpSpan['as'], fromMs: number, toMs: number): void {
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

function extend(tally: OpenTally, span: UpSpan): void {
  const last = tally.spans?.at(-1);
  if (last?.as === span.as && last.toMs === span.fromMs) last.toMs = span.toMs;
  else if (tally.spans && tally.spans.length < MAX_SPANS) tally.spans.push(span);
  else tally.spans = undefined;
}

/** The time up and down in a part of a tally; in proportion if its spans are unknown. */
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
  const total = (wanted: UpSpan['as']) =>
    spans.reduce(
      (ms, { as, fromMs, toMs }) => (as === wanted ? ms + overlapMs(fromMs, toMs) : ms),
      0,
    );
  return { upMs: total('up'), downMs: total('down') };
}

/**
 * Puts the stored time before an account that was counted on its own from `firstMs` on. Time that was counted before
 * `from.countedMs` is dropped, and the last stored snapshot counts until `firstMs`.
 */
export function putBefore(
  time: UptimeAccount,
  from: { lengthMs: number; countedMs: number; last: StatusSince | undefined },
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

/** Joins two lists of spans; adjacent spans of the same status become one. */
function joined(before: readonly UpSpan[], after: readonly UpSpan[]): UpSpan[] {
  const last = before.at(-1);
  const [first, ...rest] = after;
  if (!last || last.as !== first?.as || last.toMs !== first.fromMs) return [...before, ...after];
  return [...before.slice(0, -1), { ...last, toMs: first.toMs }, ...rest];
}

export function talliesAt(time: UptimeAccount, nowMs: number): Tally[] {
  const tallies = time.tallies.map((tally) => ({
    ...tally,
    spans: tally.spans?.map((span) => ({ ...span })),
  }));
  const copy = { ...time, tallies };
  countUntil(copy, nowMs);
  return copy.tallies;
}

/** The last snapshot of the tallies before a boundary. */
export function lastBefore(time: UptimeAccount, boundaryMs: number): StatusSince | undefined {
  return time.tallies.findLast(({ startMs, last }) => startMs < boundaryMs && last)?.last;
}

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

/** Adds tallies, oldest first, up to longer ones that start at multiples of `lengthMs`. */
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

export function floorTo(atMs: number, lengthMs: number): number {
  return Math.floor(atMs / lengthMs) * lengthMs;
}

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
  // Most accounts hold one or two, and `push` would reserve room for 16 more.
  time.tallies = [...time.tallies, tally];
  return tally;
}

/** A failure that is confirmed hours later counts in an earlier tally than the last. */
function earlierTally(time: UptimeAccount, tally: OpenTally): OpenTally {
  const place = time.tallies.findIndex(({ startMs }) => startMs >= tally.startMs);
  const known = time.tallies[place];
  if (known?.startMs === tally.startMs) return known;
  time.tallies.splice(place, 0, tally);
  return tally;
}

/** Overwrites the previous snapshot. With new objects, a start that reads a million results took 100 MB more. */
function put(
  place: StatusSince | undefined,
  atMs: number,
  { worthMs, as }: StatusSince,
): StatusSince {
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
