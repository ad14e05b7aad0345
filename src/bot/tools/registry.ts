import { checkMonitor } from './check-monitor.ts';
import { getChannelAlerts } from './get-channel-alerts.ts';
import { getMonitor } from './get-monitor.ts';
import { getUptime } from './get-uptime.ts';
import { getUsage } from './get-usage.ts';
import { listCheckResults } from './list-check-results.ts';
import { listIncidents } from './list-incidents.ts';
import { listMonitors } from './list-monitors.ts';
import type { Tool } from './tool.ts';

/** Every tool there is, in the order in which they are offered. */
export const tools: readonly Tool[] = [
  listMonitors,
  getMonitor,
  listCheckResults,
  listIncidents,
  getUptime,
  checkMonitor,
  getChannelAlerts,
  getUsage,
];

/** Those that can be asked where there is a channel, or where there is none. */
export const toolsFor = ({ hasPlace }: { hasPlace: boolean }): readonly Tool[] =>
  tools.filter(({ ofPlace }) => hasPlace || !ofPlace);
