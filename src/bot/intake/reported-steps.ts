import { isFiring, type Reported, reportedId, withPast } from '../incidents/watch-state.ts';
import type { Intake } from './intakes.ts';
import type { ReportedAlert } from './reported-alert.ts';

export type DeliveryIntake = Pick<Intake, 'id' | 'name' | 'repeatMs'> & {
  /** A `placeKey`. */
  place: string;
};

/** Default interval at which senders repeat alerts. Source: Alertmanager, `repeat_interval`. */
const REPEAT_MS = 4 * 3_600_000;

/** After this many intervals without news, the state is unknown. */
const SILENT_AFTER_REPEATS = 2;

/** Precision of the stored time. */
const HEARD_EVERY_MS = 60_000;

/**
 * For this long after an end, other instances of the sender may still report the alert as firing. Later it is believed:
 * a sender that lost an alert for a while resolves it and then continues with its old start.
 */
const REPEATED_AFTER_END_MS = 3_600_000;

/** The effect of one report on an alert. */
export interface ReportEffect {
  now: Reported;
  /** Changes in order: the alert starts, changes its severity, ends, or is lost. */
  changes: ReadonlyArray<{ status: 'FIRING' | 'WARNING' | 'RESOLVED' | 'LOST'; atMs: number }>;
  /** It was acknowledged in the other system. */
  acknowledges?: true;
}

/** A firing alert without news for so long that its state is unknown. */
export function isSilent(
  one: Reported,
  { repeatMs = REPEAT_MS }: Pick<Intake, 'repeatMs'>,
  nowMs: number,
): boolean {
  return isFiring(one) && nowMs - one.lastReportAtMs >= SILENT_AFTER_REPEATS * repeatMs;
}

/**
 * Applies a report to an alert. `undefined` if it is old or says nothing. States: unknown → firing (FIRING or WARNING)
 * → RESOLVED by its sender, CLOSED by a person, or lost when its intake is removed. A late or repeated report doesn't
 * fire a resolved alert again, and the end of an unknown alert changes nothing. Pure.
 */
export function applyReport(
  before: Reported | undefined,
  said: ReportedAlert,
  { intake, nowMs }: { intake: DeliveryIntake; nowMs: number },
): ReportEffect | undefined {
  // By the sender's clock, which may be ahead, so it is only compared with itself.
  const saidMs = said.startedAtMs;
  if (before && isOld(before, saidMs, nowMs)) return undefined;
  if (said.state === 'acknowledged') {
    if (!before || !isFiring(before)) return undefined;
    return { now: withNews(before, said, nowMs), changes: [], acknowledges: true };
  }
  if (said.state === 'resolved') return resolved(before, said, { intake, nowMs, saidMs });

  const status = said.severity === 'warning' ? 'WARNING' : 'FIRING';
  const begins = { status, atMs: Math.min(saidMs ?? nowMs, nowMs) } as const;
  const fresh: Reported = {
    ...{ ...base(said, intake), status, startedAtMs: begins.atMs, lastReportAtMs: nowMs },
    senderStartMs: saidMs,
    ...(before?.past && { past: before.past }),
    ...(before?.overStartMs !== undefined &&
      (saidMs === undefined || saidMs > before.overStartMs) && { overStartMs: before.overStartMs }),
  };
  if (!before || !isFiring(before)) return { now: fresh, changes: [begins] };
  const isNewer = saidMs !== undefined && saidMs > (before.senderStartMs ?? before.startedAtMs);
  // No end was reported, and this isn't a repeat.
  if (isNewer && isSilent(before, intake, nowMs)) {
    const { past } = withPast({ ...before, endedAtMs: nowMs });
    const now = { ...fresh, ...(past && { past }) };
    return { now, changes: [{ status: 'LOST', atMs: nowMs }, begins] };
  }
  const now = withNews(before, said, nowMs);
  if (status === before.status) return { now, changes: [] };
  return { now: { ...now, status }, changes: [{ status, atMs: nowMs }] };
}

const base = ({ key, name }: ReportedAlert, { id: intake, place }: DeliveryIntake) => ({
  ...{ id: reportedId(intake, key), intake, place, key, name },
});

/** The report is about a time before the last end. */
function isOld(before: Reported, saidMs: number | undefined, nowMs: number): boolean {
  const { overStartMs, endedAtMs = 0 } = before;
  if (overStartMs === undefined || saidMs === undefined || saidMs > overStartMs) return false;
  return isFiring(before) || Math.abs(nowMs - endedAtMs) < REPEATED_AFTER_END_MS;
}

/** Returns the same object if there is nothing to store. */
function withNews(before: Reported, { name }: ReportedAlert, nowMs: number): Reported {
  const isSame = name === before.name && Math.abs(nowMs - before.lastReportAtMs) < HEARD_EVERY_MS;
  return isSame ? before : { ...before, name, lastReportAtMs: nowMs };
}

function resolved(
  before: Reported | undefined,
  said: ReportedAlert,
  around: { intake: DeliveryIntake; nowMs: number; saidMs: number | undefined },
): ReportEffect | undefined {
  const { intake, nowMs, saidMs } = around;
  const wasFiring = before !== undefined && isFiring(before);
  const { endedAtMs: saidEndMs = Number.POSITIVE_INFINITY } = said;
  // The current alert began later, and its report arrived first.
  if (wasFiring && saidEndMs <= (before.senderStartMs ?? 0)) return undefined;
  // The report that it fired may arrive later, and then counts as old.
  const isNews = saidMs !== undefined && saidMs > (before?.overStartMs ?? 0);
  if (!wasFiring && !isNews) return undefined;
  const ofFiring = wasFiring ? before.senderStartMs : undefined;
  const overStartMs = latest(before?.overStartMs, ofFiring, saidMs);
  const startedAtMs = wasFiring ? before.startedAtMs : Math.min(saidMs ?? nowMs, nowMs);
  const endedAtMs = Math.max(startedAtMs, Math.min(said.endedAtMs ?? nowMs, nowMs));
  const over = {
    ...{ ...base(said, intake), status: 'RESOLVED' as const, startedAtMs, endedAtMs },
    ...{ lastReportAtMs: nowMs, overStartMs },
    ...(before?.past && { past: before.past }),
  };
  const now = wasFiring ? withPast(over) : over;
  return { now, changes: wasFiring ? [{ status: 'RESOLVED', atMs: endedAtMs }] : [] };
}

function latest(...times: Array<number | undefined>): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
