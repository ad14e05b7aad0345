import { changeMonitor } from './change-monitor.ts';
import { checkMonitor } from './check-monitor.ts';
import { createMonitor } from './create-monitor.ts';
import { getChannelAlerts } from './get-channel-alerts.ts';
import { getMonitor } from './get-monitor.ts';
import { getUptime } from './get-uptime.ts';
import { getUsage } from './get-usage.ts';
import { acknowledgeIncident, noteIncident, snoozeIncident } from './incident-changes.ts';
import { listCheckResults } from './list-check-results.ts';
import { listIncidents } from './list-incidents.ts';
import { listMonitors } from './list-monitors.ts';
import { pauseMonitor } from './pause-monitor.ts';
import { removeMonitor } from './remove-monitor.ts';
import { resumeMonitor } from './resume-monitor.ts';
import type { Tool } from './tool.ts';

/** All tools, in the order in which they are offered. */
export const tools: readonly Tool[] = [
  listMonitors,
  getMonitor,
  listCheckResults,
  listIncidents,
  getUptime,
  checkMonitor,
  getChannelAlerts,
  getUsage,
  createMonitor,
  changeMonitor,
  pauseMonitor,
  resumeMonitor,
  removeMonitor,
  acknowledgeIncident,
  snoozeIncident,
  noteIncident,
];

export const toolsFor = ({ hasPlace }: { hasPlace: boolean }): readonly Tool[] =>
  tools.filter(({ ofPlace }) => hasPlace || !ofPlace);

/** The tools for work that nobody asked for: they only read, send no request to a monitored site, and name no person. */
export const toolsByItself: readonly Tool[] = [
  listMonitors,
  getMonitor,
  listCheckResults,
  listIncidents,
  getUptime,
];
