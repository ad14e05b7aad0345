import { beginTurn } from '../../contracts/event-loop.ts';
import { withinBytes } from '../../contracts/within-bytes.ts';
import { isHeartbeat } from '../checks/check-type.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';

/** One process checks about this many on time. Their text has a few megabytes. */
const MAX_EXPORTED = 10_000;

/** Enough for ten tags in ASCII. */
const MAX_LABEL_BYTES = 500;

interface MonitorGauge {
  name: string;
  help: string;
  /** Returns `undefined` if the monitor has no such value now. */
  read(monitor: WatchedMonitor): number | undefined;
}

/**
 * Times are Unix times, as exporters have them: a value that doesn't change with the clock takes little room, and `- time()` gives
 * the seconds left. Source: blackbox_exporter, `prober/http.go`, `probe_ssl_earliest_cert_expiry`.
 */
const GAUGES: readonly MonitorGauge[] = [
  {
    name: 'askwatch_monitor_up',
    help: '1 if the monitor is UP or DEGRADED, 0 if it is DOWN. Absent while it is PENDING or in MAINTENANCE.',
    read: ({ published: { status } }) => UP_VALUES[status],
  },
  {
    name: 'askwatch_monitor_response_seconds',
    help: 'Response time of the last check. For a HEARTBEAT the duration of the last run, if the job reports its starts.',
    read: ({ published }) => secondsOf(published.responseTimeMs),
  },
  {
    name: 'askwatch_monitor_certificate_expiry_seconds',
    help: 'End of the last certificate that the target sent, as Unix time.',
    read: ({ published }) => secondsOf(published.certificateEndsMs),
  },
  {
    name: 'askwatch_monitor_last_heartbeat_seconds',
    help: 'Time of the last ping, as Unix time.',
    read: ({ definition, published }) =>
      isHeartbeat(definition) ? secondsOf(published.lastCheckedMs) : undefined,
  },
];

/** An alert on 0 must not start before the first check or during maintenance, so these statuses have no value. */
const UP_VALUES: Record<string, number | undefined> = { UP: 1, DEGRADED: 1, DOWN: 0 };

/**
 * Returns a function that writes the metrics of this process's monitors as text, except for PAUSED ones. Each monitor belongs to one
 * process, so sums over all processes are right. Writes in turns, because prom-client would need one long one for 40,000 series.
 */
export function createMetricsWriter({
  monitors,
  owns,
}: {
  monitors: Pick<Monitors, 'all'>;
  owns: (id: string) => boolean;
}) {
  return async (): Promise<string> => {
    const watched = monitors
      .all()
      .filter(({ id, published }) => owns(id) && published.status !== 'PAUSED');
    const rows = GAUGES.map((gauge) => ({ gauge, lines: headOf(gauge) }));
    const turn = beginTurn();
    for (const monitor of watched.slice(0, MAX_EXPORTED)) {
      const labels = labelsOf(monitor);
      for (const { gauge, lines } of rows) {
        const value = gauge.read(monitor);
        if (value !== undefined) lines.push(`${gauge.name}{${labels}} ${value}`);
      }
      if (turn.isOver()) await turn.next();
    }
    const leftOut = `${LEFT_OUT.name} ${Math.max(0, watched.length - MAX_EXPORTED)}`;
    return [...rows.flatMap(({ lines }) => lines), ...headOf(LEFT_OUT), leftOut, ''].join('\n');
  };
}

const LEFT_OUT = {
  name: 'askwatch_monitors_left_out',
  help: `Monitors of this process without metrics of their own: all but the oldest ${MAX_EXPORTED}.`,
};

const headOf = ({ name, help }: Pick<MonitorGauge, 'name' | 'help'>) => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} gauge`,
];

const labelsOf = ({ id, definition: { name, check_type: type, tags = [] } }: WatchedMonitor) =>
  Object.entries({ id, name, type, tags: tags.join(',') })
    .map(([label, value]) => `${label}="${escapeLabel(withinBytes(value, MAX_LABEL_BYTES))}"`)
    .join(',');

/** Source: Prometheus, "Exposition formats", "Text format details". */
const escapeLabel = (value: string) =>
  value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));

const secondsOf = (ms: number | null | undefined) =>
  ms === null || ms === undefined ? undefined : ms / 1000;
