import { StatusError } from '../../clients/errors.ts';
import { explainOutage } from '../shared/explain-error.ts';
import { type AlertContext, newDelivery } from './incidents.ts';
import type { Alert, MonitoringOutage, Watching } from './watch-state.ts';

/** Polls of the monitors that failed, one after another. */
export interface FailedPolls {
  count: number;
  /** When the first of them failed, Unix milliseconds. */
  sinceMs: number;
  /** Why the last of them did. */
  error: unknown;
}

/** So many polls missed in a row are no accident, if each had its whole time. */
const MISSED_POLLS = 3;

/** Whatever the time between two polls, people are told after this. */
const OUTAGE_AFTER_MS = 90_000;

/** A service that only says "too often" is well: others ask it too. */
const LIMITED_AFTER_MS = 180_000;

/**
 * Whether people are to be told that nobody watches: at once when the key is refused, which does not pass by itself;
 * else after three times the usual wait, or 90 s. Pure.
 */
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

/** The document with what people are to be told while nothing is seen; the same one when they are told already. Pure. */
export function withMonitoringOutage(
  watching: Watching | undefined,
  { sinceMs, error }: FailedPolls,
  around: AlertContext & { places: readonly string[] },
): Watching | undefined {
  if (around.places.length === 0 || watching?.alerts.some(isOpenMonitoringOutage)) return watching;
  const id = around.newId();
  const monitoringOutage: MonitoringOutage = {
    kind: 'blindness',
    id,
    version: 1,
    openedAtMs: around.nowMs,
    deliveries: [...new Set(around.places)].map((place) => newDelivery(place, id)),
    startedAtMs: sinceMs,
    why:
      explainOutage(error, 'monitoring service') ??
      'Something went wrong inside Askwatch. Your Askwatch admin can find the cause in the log.',
  };
  // Nothing was seen yet, so the first poll is still to be learnt from in silence.
  const before = watching ?? { known: [], learnt: false, shortLooks: 0, alerts: [] };
  return { ...before, alerts: [...before.alerts, monitoringOutage] };
}

/** The alerts after a good poll: whoever was told of a monitoring outage, or may have been, is told that it is over. Pure. */
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
  return alert.kind === 'blindness' && alert.endedAtMs === undefined;
}
