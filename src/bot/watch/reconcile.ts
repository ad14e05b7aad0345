import type { Monitor } from '../../contracts/monitoring.ts';
import type { Change } from '../incidents/diff.ts';
import { notCalmUnseen } from '../incidents/flapping.ts';
import { applyChanges, type Deciding, isOpen, withOpened } from '../incidents/incidents.ts';
import { applyMissed, type Missed } from '../incidents/missed-incidents.ts';
import { seesAgain } from '../incidents/monitoring-outage.ts';
import { calmed } from '../incidents/persistent-outages.ts';
import type { Topic } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

const isOf = (change: Change, { id }: Monitor) =>
  change.kind === 'status' && change.monitor.id === id;

/** The topics with what changed, before outages that began together are put together. */
export function decide(
  before: Topic[],
  { monitors, changes }: { monitors: readonly Monitor[]; changes: readonly Change[] },
  around: Deciding,
  { missed, later }: { missed: readonly Missed[]; later: ReadonlySet<string> },
): Topic[] {
  const { nowMs, unseenFromMs } = around;
  const sighted = seesAgain(before, nowMs);
  const isLate = unseenFromMs !== undefined || sighted !== before;
  const awake = isLate ? notCalmUnseen(sighted, nowMs) : sighted;
  const seeing = applyMissed(awake, missed, around);
  // One that is down again may look as it did before.
  const open = new Set(seeing.filter(isOpen).map(({ monitorId }) => monitorId));
  const downAgain = missed
    .filter(({ monitor }) => isDown(monitor) && !open.has(monitor.id))
    .filter(({ monitor }) => !changes.some((change) => isOf(change, monitor)))
    .map(({ monitor }): Change => ({ kind: 'status', monitor, from: monitor.status }));
  const applied = applyChanges(seeing, [...changes, ...downAgain], around);
  const { topics, downs } = calmed(applied, monitors, { ...around, asking: later });
  return withOpened(topics, downs, around);
}
