import type { Monitor } from '../../contracts/monitoring.ts';
import type { Change } from '../incidents/diff.ts';
import { withCalmRestarted } from '../incidents/flapping.ts';
import { applyChanges, isOpen, type PollContext, withOpened } from '../incidents/incidents.ts';
import { applyMissed, type MissedOutages } from '../incidents/missed-incidents.ts';
import { withMonitoringRecovered } from '../incidents/monitoring-outage.ts';
import { withFlappingEnded } from '../incidents/persistent-outages.ts';
import type { Alert } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

const isOf = (change: Change, { id }: Monitor) =>
  change.kind === 'status' && change.monitor.id === id;

/** The alerts with what changed, before outages that began together are put together. */
export function reconcile(
  before: Alert[],
  { monitors, changes }: { monitors: readonly Monitor[]; changes: readonly Change[] },
  around: PollContext,
  { missed, later }: { missed: readonly MissedOutages[]; later: ReadonlySet<string> },
): Alert[] {
  const { nowMs, unseenFromMs } = around;
  const sighted = withMonitoringRecovered(before, nowMs);
  const isLate = unseenFromMs !== undefined || sighted !== before;
  const awake = isLate ? withCalmRestarted(sighted, nowMs) : sighted;
  const seeing = applyMissed(awake, missed, around);
  // One that is down again may look as it did before.
  const open = new Set(seeing.filter(isOpen).map(({ monitorId }) => monitorId));
  const downAgain = missed
    .filter(({ monitor }) => isDown(monitor) && !open.has(monitor.id))
    .filter(({ monitor }) => !changes.some((change) => isOf(change, monitor)))
    .map(({ monitor }): Change => ({ kind: 'status', monitor, from: monitor.status }));
  const applied = applyChanges(seeing, [...changes, ...downAgain], around);
  const { alerts, downs } = withFlappingEnded(applied, monitors, { ...around, asking: later });
  return withOpened(alerts, downs, around);
}
