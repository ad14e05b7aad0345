import { StatusError } from '../../clients/errors.ts';
import { explainOutage } from '../shared/explain-error.ts';
import { type AlertContext, newDelivery } from './incidents.ts';
import type { Alert, MonitoringOutage, Watching } from './watch-state.ts';

export interface FailedPolls {
  count: number;
  sinceMs: number;
  error: unknown;
}

/** Fewer failures may be chance. */
const MISSED_POLLS = 3;

/** Independent of the interval between polls. */
const OUTAGE_AFTER_MS = 90_000;

/** A service that answers 429 works. Others use it too. */
const LIMITED_AFTER_MS = 180_000;

/** True at once if the key is refused. Otherwise after three intervals, or 90 s. Pure. */
export function isMonitoringOutage(
  { count, sinceMs, error }: FailedPolls,
  nowMs: number,
  pollMs: number,
) {
  const status = error instanceof StatusError ? error.status : undefined;
  if (status === 401 || status === 403) return true;
  const forMs = nowMs - sinceMs;
  if (status === 429) return forMs >= LIMITED_AFTER_MS;
  return (
    (count >= MISSED_POLLS && forMs >= MISSED_POLLS * pollMs) ||
    (count > 1 && forMs >= OUTAGE_AFTER_MS)
  );
}

/** Returns the same object if the outage was already reported. Pure. */
export function withMonitoringOutage(
  watching: Watching | undefined,
  { sinceMs, error }: FailedPolls,
  around: AlertContext & { places: readonly string[] },
): Watching | undefined {
  if (around.places.length === 0 || watching?.alerts.some(isOpenMonitoringOutage)) return watching;
  const id = around.newId();
  const monitoringOutage: MonitoringOutage = {
    kind: 'monitoring-outage',
    id,
    version: 1,
    openedAtMs: around.nowMs,
    deliveries: [...new Set(around.places)].map((place) => newDelivery(place, id)),
    startedAtMs: sinceMs,
    why:
      explainOutage(error, 'monitoring service') ??
      'Something went wrong inside Askwatch. Your Askwatch admin can find the cause in the log.',
  };
  // The first poll is still to come.
  const before = watching ?? { known: [], isLearned: false, shortLists: 0, alerts: [] };
  return { ...before, alerts: [...before.alerts, monitoringOutage] };
}

/** Ends the outage after a good poll, in channels that may have its message. Pure. */
export function withMonitoringRecovered(alerts: Alert[], nowMs: number): Alert[] {
  if (!alerts.some(isOpenMonitoringOutage)) return alerts;
  return alerts.flatMap((alert): Alert[] => {
    if (!isOpenMonitoringOutage(alert)) return [alert];
    const deliveries = alert.deliveries.filter(({ attempted }) => attempted);
    if (deliveries.length === 0) return [];
    const endedAtMs = Math.max(nowMs, alert.startedAtMs);
    return [{ ...alert, deliveries, version: alert.version + 1, endedAtMs }];
  });
}

function isOpenMonitoringOutage(alert: Alert): alert is MonitoringOutage {
  return alert.kind === 'monitoring-outage' && alert.endedAtMs === undefined;
}
