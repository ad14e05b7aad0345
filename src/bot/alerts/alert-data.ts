import {
  type Alert,
  type GroupMember,
  type Incident,
  incidentsIn,
} from '../incidents/watch-state.ts';
import type { AlertData, AlertedMonitor } from '../shared/card.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';

const MAX_MONITORS = 20;

/** The alert for programs. `undefined` for notices and reports, which have no end. Pure. */
export function alertData(alert: Alert, alerts: readonly Alert[] = []): AlertData | undefined {
  if (alert.kind === 'notice' || alert.kind === 'report') return undefined;
  const { openedAtMs, version, endedAtMs } = alert;
  const all = alert.kind === 'group' ? alert.members : alert.kind === 'incident' ? [alert] : [];
  const open = all.filter((one) => one.endedAtMs === undefined);
  const isAcknowledged = open.length > 0 && open.every(({ acknowledged }) => acknowledged);
  const shown = [...open, ...all.filter((one) => one.endedAtMs !== undefined)];
  const named = shown.slice(0, MAX_MONITORS);
  const incidents =
    alert.kind === 'group'
      ? incidentsOf(new Set(named.map(({ monitorId }) => monitorId)), alerts)
      : undefined;
  return {
    // A later outage that takes over an unsent message has a lower version, but was opened later.
    sequence: openedAtMs + version,
    state: endedAtMs !== undefined ? 'resolved' : isAcknowledged ? 'acknowledged' : 'open',
    monitors: named.map((one) =>
      monitorOf(one, 'target' in one ? one : incidents?.get(one.incidentId)),
    ),
    ...(all.length > named.length && { moreMonitors: all.length - named.length }),
  };
}

const incidentsOf = (monitorIds: ReadonlySet<string>, alerts: readonly Alert[]) =>
  new Map(
    incidentsIn(alerts)
      .filter(({ monitorId }) => monitorIds.has(monitorId))
      .map((incident) => [incident.id, incident]),
  );

function monitorOf(one: Incident | GroupMember, incident: Incident | undefined): AlertedMonitor {
  const { monitorId: id, name, status, startedAtMs: sinceMs, endedAtMs: untilMs, reason } = one;
  return {
    id,
    name: shortened(name, 200),
    ...(incident && { target: shortened(shownTarget(incident.target), 300) }),
    status: shortened(status, 40),
    sinceMs,
    ...(untilMs !== undefined && { untilMs }),
    ...(reason && { cause: shortened(reason, 500) }),
  };
}
