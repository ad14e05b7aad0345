import { MonitorStatus } from '../../contracts/monitoring.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { Connectivity } from '../connectivity/connectivity.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import type { Schedule } from './schedule.ts';

export function addRunnerMetrics(
  metrics: Metrics,
  watched: {
    monitors: Monitors;
    schedule: Schedule;
    connectivity: Connectivity;
    isStale: (monitor: WatchedMonitor) => boolean;
  },
) {
  const { monitors, schedule, connectivity, isStale } = watched;
  metrics.gauges('askwatch_monitors', 'Monitors by status.', ['status'], () => {
    const counts = new Map(MonitorStatus.options.map((status) => [status, 0]));
    for (const { state } of monitors.all()) {
      counts.set(state.status, (counts.get(state.status) ?? 0) + 1);
    }
    return [...counts].map(([status, value]) => ({ labels: { status }, value }));
  });
  metrics.gauge(
    'askwatch_monitors_stale',
    'Monitors checked by this process that have had no result for more than two intervals.',
    () => monitors.all().filter(isStale).length,
  );
  metrics.gauge('askwatch_checks_in_flight', 'Checks in progress.', schedule.inFlight);
  metrics.gauge(
    'askwatch_check_lag_seconds',
    'Longest delay of a check start in the last one to two minutes.',
    () => schedule.lagMs() / 1000,
  );
  metrics.gauge(
    'askwatch_check_lag_p99_seconds',
    '99th percentile of the delays of check starts in the last one to two minutes.',
    () => schedule.lagP99Ms() / 1000,
  );
  metrics.gauge(
    'askwatch_checks_late',
    '1 while the service cannot keep up with its checks.',
    () => (schedule.isOverloaded() ? 1 : 0),
  );
  metrics.gauge(
    'askwatch_checks_skipped_total',
    'Checks skipped because they were late by a whole interval.',
    schedule.missed,
  );
  metrics.gauge('askwatch_sleeps_total', 'How often this machine slept.', schedule.sleeps);
  metrics.gauge(
    'askwatch_own_network_lost',
    "1 while this machine's network is down and targets cannot be checked.",
    () => (connectivity.lost ? 1 : 0),
  );
  return metrics.counter(
    'askwatch_checks_total',
    "Finished checks, by check type and outcome; unknown while this machine's network is down.",
    ['type', 'outcome'],
  );
}
