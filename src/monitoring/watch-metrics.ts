import type { Metrics } from '../http/metrics.ts';
import type { Monitors } from './monitors.ts';
import type { Schedule } from './schedule.ts';

/** Declares what `/metrics` tells of the monitors and the schedule; gives the counter of checks done. */
export function addWatchMetrics(metrics: Metrics, monitors: Monitors, schedule: Schedule) {
  metrics.gauge('askwatch_monitors', 'Monitors there are.', () => monitors.count());
  metrics.gauge(
    'askwatch_monitors_down',
    'Monitors that are DOWN.',
    () => monitors.all().filter(({ state }) => state.status === 'DOWN').length,
  );
  metrics.gauge('askwatch_checks_in_flight', 'Checks under way.', () => schedule.inFlight());
  metrics.gauge(
    'askwatch_check_lag_seconds',
    'How late checks started, the worst of the last one to two minutes.',
    () => schedule.lagMs() / 1000,
  );
  metrics.gauge(
    'askwatch_checks_skipped_total',
    'Checks left out because their time had passed by a whole interval.',
    () => schedule.missed(),
  );
  return metrics.counter(
    'askwatch_checks_total',
    'Checks done, by kind of check and how it ended.',
    ['type', 'outcome'],
  );
}
