import { z } from 'zod';
import {
  CheckRecord,
  ComingWindow,
  Incident,
  type MonitorDetails,
} from '../../contracts/monitoring-additions.ts';
import { shortened } from '../shared/text-format.ts';
import { MonitorState, stateOf } from './list-monitors.ts';
import { findMonitor, ifOffered, pageOf } from './monitors.ts';
import { asOf, isoTime, monitorField, tool } from './tool.ts';

const RESULTS = 10;

/** Settings that say nothing about what is watched, and may be long. */
const NOT_SHOWN = new Set(['headers', 'body']);

/** One monitor with what there is to know of it now. */
export const getMonitor = tool({
  name: 'get_monitor',
  title: 'Show a monitor',
  description:
    'Shows one monitor: status, since when and why, settings, ongoing incident, planned maintenance, last 10 checks.',
  input: z.object({ monitor: monitorField }),
  output: z.object({
    as_of: z.string(),
    monitor: MonitorState,
    interval_seconds: z.number().optional(),
    settings: z.record(z.string(), z.unknown()).optional(),
    maintenance: z.array(z.unknown()).optional(),
    /** When those go on or come next. */
    planned_maintenance: z.array(ComingWindow).optional(),
    certificate_ends_at: z.string().optional(),
    /** What goes on now. */
    incident: Incident.optional(),
    /** Newest first; absent where the monitoring service does not tell them. */
    last_checks: z.array(CheckRecord).optional(),
  }),
  what: ({ monitor }) => shortened(monitor, 60),
  account: ({ as_of, monitor }) => ({
    what: shortened(monitor.name, 60),
    found: `${shortened(monitor.status, 20)}, ${checkedWords(monitor, as_of)}`,
    page: pageOf(monitor),
  }),
  async run({ monitor: meant }, { monitoring, nowMs, signal }) {
    const listed = findMonitor(await monitoring.list({ signal }), meant);
    const { id, interval_seconds } = listed;
    const [details, last_checks] = await Promise.all([
      ifOffered(monitoring.show(id, { signal })),
      ifOffered(monitoring.results(id, { limit: RESULTS, signal })),
    ]);
    return {
      as_of: isoTime(nowMs),
      monitor: stateOf(listed),
      // 0 where the service tells none.
      ...(interval_seconds > 0 && { interval_seconds }),
      ...(details && detailsOf(details)),
      ...(last_checks && { last_checks }),
    };
  },
});

function detailsOf({ config, maintenance, planned_maintenance, ...details }: MonitorDetails) {
  const { certificate_ends_at, incident } = details;
  const settings = Object.entries(config).filter(([name]) => !NOT_SHOWN.has(name));
  return {
    settings: Object.fromEntries(settings),
    ...(maintenance.length > 0 && { maintenance }),
    ...(planned_maintenance && { planned_maintenance }),
    ...(certificate_ends_at !== null && { certificate_ends_at }),
    ...(incident !== null && { incident }),
  };
}

/** `checked 14:05 UTC`, or of when the status is known. */
export function checkedWords({ last_checked_at }: MonitorState, asOfTime: string): string {
  if (last_checked_at === undefined) return asOf(Date.parse(asOfTime));
  return `checked ${isoTime(Date.parse(last_checked_at)).slice(11, 16)} UTC`;
}
