import { isFiring, type Reported, reportedId, withPast } from '../incidents/watch-state.ts';
import type { Intake } from './intakes.ts';
import type { ReportedAlert } from './reported-alert.ts';

/** Where a delivery came in. */
export type DeliveryIntake = Pick<Intake, 'id' | 'name' | 'repeatMs'> & {
  /** In its one-word form. */
  place: string;
};

/** How often a sender repeats an alert that goes on, where nothing else is known. Source: Alertmanager, `repeat_interval`. */
const REPEAT_MS = 4 * 3_600_000;

/** After so many of these times without a word nobody knows how an alert is. */
const SILENT_AFTER_REPEATS = 2;

/** When something was heard last is kept to so much. */
const HEARD_EVERY_MS = 60_000;

/**
 * Peers of a sender that have not heard of the end yet may say for so long that it fires. Later it is believed: a sender that
 * lost sight of an alert for a while takes it for resolved, and then goes on with it as it began.
 */
const REPEATED_AFTER_END_MS = 3_600_000;

/** What a word of a sender makes of one alert. */
export interface Heard {
  now: Reported;
  /** What became of it, in order: it begins, is otherwise bad than before, is over, or is not heard of any more. */
  changes: ReadonlyArray<{ status: 'FIRING' | 'WARNING' | 'RESOLVED' | 'LOST'; atMs: number }>;
  /** Somebody looks after it over there. */
  acknowledges?: true;
}

/** Whether an alert that fires was not heard of for so long that nobody knows how it is. */
export function isSilent(
  one: Reported,
  { repeatMs = REPEAT_MS }: Pick<Intake, 'repeatMs'>,
  nowMs: number,
): boolean {
  return isFiring(one) && nowMs - one.heardAtMs >= SILENT_AFTER_REPEATS * repeatMs;
}

/**
 * What is known of an alert after a sender said something of it; `undefined` where that is old, or says nothing: what was resolved
 * does not fire again by a delivery that is late or repeated, and what nobody knows is not over. Pure.
 */
export function heardOf(
  before: Reported | undefined,
  said: ReportedAlert,
  { intake, nowMs }: { intake: DeliveryIntake; nowMs: number },
): Heard | undefined {
  // By the sender's clock, which may be ahead: it is compared with nothing but itself.
  const saidMs = said.startedAtMs;
  if (before && isOld(before, saidMs, nowMs)) return undefined;
  if (said.state === 'acknowledged') {
    if (!before || !isFiring(before)) return undefined;
    return { now: heardAgain(before, said, nowMs), changes: [], acknowledges: true };
  }
  if (said.state === 'resolved') return resolved(before, said, { intake, nowMs, saidMs });

  const status = said.severity === 'warning' ? 'WARNING' : 'FIRING';
  const begins = { status, atMs: Math.min(saidMs ?? nowMs, nowMs) } as const;
  const fresh: Reported = {
    ...{ ...base(said, intake), status, startedAtMs: begins.atMs, heardAtMs: nowMs },
    ...(saidMs !== undefined && { saidStartMs: saidMs }),
    ...(before?.past && { past: before.past }),
    ...(before?.overStartMs !== undefined &&
      (saidMs === undefined || saidMs > before.overStartMs) && { overStartMs: before.overStartMs }),
  };
  if (!before || !isFiring(before)) return { now: fresh, changes: [begins] };
  const isNewer = saidMs !== undefined && saidMs > (before.saidStartMs ?? before.startedAtMs);
  // Its end was never told, and neither is this a repeat.
  if (isNewer && isSilent(before, intake, nowMs)) {
    const { past } = withPast({ ...before, endedAtMs: nowMs });
    const now = { ...fresh, ...(past && { past }) };
    return { now, changes: [{ status: 'LOST', atMs: nowMs }, begins] };
  }
  const now = heardAgain(before, said, nowMs);
  if (status === before.status) return { now, changes: [] };
  return { now: { ...now, status }, changes: [{ status, atMs: nowMs }] };
}

const base = ({ key, name }: ReportedAlert, { id: intake, place }: DeliveryIntake) => ({
  ...{ id: reportedId(intake, key), intake, place, key, name },
});

/** Whether it is about a time before the last end of the alert. */
function isOld(before: Reported, saidMs: number | undefined, nowMs: number): boolean {
  const { overStartMs, endedAtMs = 0 } = before;
  if (overStartMs === undefined || saidMs === undefined || saidMs > overStartMs) return false;
  return isFiring(before) || Math.abs(nowMs - endedAtMs) < REPEATED_AFTER_END_MS;
}

/** The same alert, of which nothing but words is new; the same object where there is nothing to keep. */
function heardAgain(before: Reported, { name }: ReportedAlert, nowMs: number): Reported {
  const isSame = name === before.name && Math.abs(nowMs - before.heardAtMs) < HEARD_EVERY_MS;
  return isSame ? before : { ...before, name, heardAtMs: nowMs };
}

function resolved(
  before: Reported | undefined,
  said: ReportedAlert,
  around: { intake: DeliveryIntake; nowMs: number; saidMs: number | undefined },
): Heard | undefined {
  const { intake, nowMs, saidMs } = around;
  const wasFiring = before !== undefined && isFiring(before);
  const { endedAtMs: saidEndMs = Number.POSITIVE_INFINITY } = said;
  // What fires now began after that, and this word of it came first.
  if (wasFiring && saidEndMs <= (before.saidStartMs ?? 0)) return undefined;
  // The word that it fired may still be under way, and is then known to be old.
  const isNews = saidMs !== undefined && saidMs > (before?.overStartMs ?? 0);
  if (!wasFiring && !isNews) return undefined;
  const ofFiring = wasFiring ? before.saidStartMs : undefined;
  const overStartMs = latest(before?.overStartMs, ofFiring, saidMs);
  const startedAtMs = wasFiring ? before.startedAtMs : Math.min(saidMs ?? nowMs, nowMs);
  const endedAtMs = Math.max(startedAtMs, Math.min(said.endedAtMs ?? nowMs, nowMs));
  const over = {
    ...{ ...base(said, intake), status: 'RESOLVED' as const, startedAtMs, endedAtMs },
    ...{ heardAtMs: nowMs, ...(overStartMs !== undefined && { overStartMs }) },
    ...(before?.past && { past: before.past }),
  };
  const now = wasFiring ? withPast(over) : over;
  return { now, changes: wasFiring ? [{ status: 'RESOLVED', atMs: endedAtMs }] : [] };
}

function latest(...times: Array<number | undefined>): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
