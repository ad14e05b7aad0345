import { isTimed } from '../incidents/incidents.ts';
import {
  type Alert,
  type GroupMember,
  type Incident,
  incidentsIn,
} from '../incidents/watch-state.ts';
import type { AlertData } from '../shared/card.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';

const MAX_MONITORS = 20;

/** The alert for programs. `undefined` for notices and reports, which have no end. Pure. */
export function alertData(alert: Alert, alerts: readonly Alert[] = []): AlertData | undefined {
  if (!isTimed(alert)) return undefined;
  const { openedAtMs, version, endedAtMs } = alert;
  const all = alert.kind === 'group' ? alert.members : alert.kind === 'incident' ? [alert] : [];
  const open = all.filter((one) => one.endedAtMs === undefined);
  const isAcknowledged = open.length > 0 && open.every(({ acknowledged }) => acknowledged);
  const shown = [...open, ...all.filter((one) => one.endedAtMs !== undefined)];
  const named = shown.slice(0, MAX_MONITORS);
  const incidents = new Map(
    alert.kind === 'group' ? incidentsIn(alerts).map((one) => [one.id, one]) : [],
  );
  return {
    // A later outage that takes over an unsent message has a lower version, but was opened later.
    sequence: openedAtMs + version,
    state: endedAtMs !== undefined ? 'resolved' : isAcknowledged ? 'acknowledged' : 'open',
    monitors: named.map((one) =>
      monitorOf(one, 'target' in one ? one : incidents.get(one.incidentId)),
    ),
    moreMonitors: all.length - named.length,
  };
}

function monitorOf(
  { monitorId: id, name, status, startedAtMs, endedAtMs, reason }: Incident | GroupMember,
  incident: Incident | undefined,
): AlertData['monitors'][number] {
  return {
    id,
    name: shortened(name, 200),
    ...(incident && { target: shortened(shownTarget(incident.target), 300) }),
    status: shortened(status, 40),
    since: new Date(startedAtMs).toISOString(),
    ...(endedAtMs !== undefined && { until: new Date(endedAtMs).toISOString() }),
    ...(reason && { cause: shortened(reason, 500) }),
  };
}
