import { z } from 'zod';
import {
  CheckRecord,
  ComingWindow,
  Incident,
  type MonitorDetails,
} from '../../contracts/monitoring-additions.ts';
import { shortened } from '../shared/text-format.ts';
import { ifOffered, monitorMeant, pageOf } from './monitors.ts';
import { MonitorView, monitorView } from './read-model.ts';
import { asOf, isoTime, monitorField, tool } from './tool.ts';

const RESULTS = 10;

/** Long settings that say nothing about the target. */
const NOT_SHOWN = new Set(['headers', 'body']);

export const MonitorShown = z.object({
  as_of: z.string(),
  monitor: MonitorView,
  interval_seconds: z.number().optional(),
  /** All of it, as people wrote it. */
  runbook: z.string().optional(),
  settings: z.record(z.string(), z.unknown()).optional(),
  maintenance: z.array(z.unknown()).optional(),
  /** Current or next windows. */
  planned_maintenance: z.array(ComingWindow).optional(),
  certificate_ends_at: z.string().optional(),
  /** Ongoing. */
  incident: Incident.optional(),
  /** Newest first; absent if the monitoring service doesn't list checks. */
  last_checks: z.array(CheckRecord).optional(),
});
export type MonitorShown = z.infer<typeof MonitorShown>;

export const getMonitor = tool({
  name: 'get_monitor',
  title: 'Show a monitor',
  description:
    'Shows one monitor: status, since when and why, settings, runbook, ongoing incident, planned maintenance, last 10 checks.',
  input: z.object({ monitor: monitorField }),
  output: MonitorShown,
  what: ({ monitor }) => shortened(monitor, 60),
  account: ({ as_of, monitor }) => ({
    what: shortened(monitor.name, 60),
    found: `${shortened(monitor.status, 20)}, ${checkedWords(monitor, as_of)}`,
    page: pageOf(monitor),
  }),
  async run({ monitor: meant }, context) {
    const { monitoring, nowMs, signal } = context;
    const listed = await monitorMeant(meant, context);
    const { id, interval_seconds } = listed;
    const [details, last_checks] = await Promise.all([
      ifOffered(monitoring.show(id, { signal })),
      ifOffered(monitoring.results(id, { limit: RESULTS, signal })),
    ]);
    return {
      as_of: isoTime(nowMs),
      monitor: monitorView(listed),
      interval_seconds: interval_seconds > 0 ? interval_seconds : undefined,
      runbook: details?.runbook ?? listed.runbook,
      ...(details && detailsOf(details)),
      last_checks,
    };
  },
});

function detailsOf({ config, maintenance, planned_maintenance, ...details }: MonitorDetails) {
  const { certificate_ends_at, incident } = details;
  const settings = Object.entries(config).filter(([name]) => !NOT_SHOWN.has(name));
  return {
    settings: Object.fromEntries(settings),
    maintenance: maintenance.length > 0 ? maintenance : undefined,
    planned_maintenance,
    certificate_ends_at: certificate_ends_at ?? undefined,
    incident: incident ?? undefined,
  };
}

/** `checked 14:05 UTC`, or the time of the list. */
export function checkedWords({ last_checked_at }: MonitorView, asOfTime: string): string {
  if (last_checked_at === undefined) return asOf(Date.parse(asOfTime));
  return `checked ${isoTime(Date.parse(last_checked_at)).slice(11, 16)} UTC`;
}
