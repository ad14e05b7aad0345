import type { Logger } from 'pino';
import { StatusError } from '../clients/errors.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Monitor } from '../contracts/monitoring.ts';
import type { Incident as Outage } from '../contracts/monitoring-additions.ts';
import type { Sight } from './diff.ts';
import { newIncident, type Surroundings } from './incidents.ts';
import type { Incident, Topic } from './watch-state.ts';

/** Outages of a monitor that came or ended between two looks at the list. */
export interface Missed {
  monitor: Monitor;
  /** How often it had changed at the look before. */
  sinceChange: number;
  outages: readonly Outage[];
}

/** Monitors asked about after one look: few of the 120 requests a minute that commands need too. */
const MAX_ASKED = 10;
/** Outages of one monitor that are asked for. */
const MAX_OUTAGES = 20;

/** Monitors that changed more often since the look before than the list shows. Pure. */
export function changedBetween(
  sight: Sight | undefined,
  listed: readonly Monitor[],
): Array<Omit<Missed, 'outages'>> {
  if (!sight?.learnt) return [];
  const knownById = new Map(sight.known.map((known) => [known.id, known]));
  return listed.flatMap((monitor) => {
    const known = knownById.get(monitor.id);
    if (known?.changes === undefined || monitor.status_changes === undefined) return [];
    const shown = monitor.status === known.status ? 0 : 1;
    return monitor.status_changes - known.changes > shown
      ? [{ monitor, sinceChange: known.changes }]
      : [];
  });
}

/**
 * Asks the service what happened between two looks. A service of the contract alone does not count changes and is never
 * asked. `later` are the ids of those that are to be asked about after the next look.
 */
export async function askMissed(
  changed: ReadonlyArray<Omit<Missed, 'outages'>>,
  options: { monitoring: MonitoringClient; signal: AbortSignal; log: Logger },
): Promise<{ missed: Missed[]; later: Set<string> }> {
  const { monitoring, signal, log } = options;
  const missed: Missed[] = [];
  const later = new Set(changed.slice(MAX_ASKED).map(({ monitor }) => monitor.id));
  for (const { monitor, sinceChange } of changed.slice(0, MAX_ASKED)) {
    try {
      const outages = await monitoring.incidents(monitor.id, { limit: MAX_OUTAGES, signal });
      missed.push({ monitor, sinceChange, outages });
    } catch (error) {
      // A service that has no such answer, or has removed the monitor, will not have it later either.
      if (error instanceof StatusError && error.status < 429) continue;
      log.debug({ err: error, monitor: monitor.id }, 'what was missed could not be asked for');
      later.add(monitor.id);
    }
  }
  return { missed, later };
}

/** Ends open incidents that were over before now, and adds those that came and went. Pure. */
export function applyMissed(
  topics: Topic[],
  missed: readonly Missed[],
  around: Surroundings,
): Topic[] {
  return missed.reduce((all, { monitor, sinceChange, outages }) => {
    const inOrder = [...outages].sort((a, b) => a.change - b.change);
    return inOrder.reduce(
      (now, outage, at) =>
        withOutage(now, { monitor, sinceChange, outage, next: inOrder[at + 1] }, around),
      all,
    );
  }, topics);
}

function withOutage(
  topics: Topic[],
  told: { monitor: Monitor; sinceChange: number; outage: Outage; next: Outage | undefined },
  around: Surroundings,
): Topic[] {
  const { monitor, sinceChange, outage, next } = told;
  if (outage.ended_at === null) return topics;
  const endedAtMs = Math.min(Date.parse(outage.ended_at), around.nowMs);
  const endedAs = outage.ended_as ?? 'UP';
  const isSame = (topic: Topic): topic is Incident =>
    topic.kind === 'incident' && topic.monitorId === monitor.id && topic.change === outage.change;
  const known = topics.find(isSame);
  if (known) {
    // While nobody could be asked, it was taken to end with a later one.
    const untilMs = known.endedAtMs ?? Number.POSITIVE_INFINITY;
    const isWrong = untilMs > (next ? Date.parse(next.started_at) : around.nowMs);
    if (!isWrong) return topics;
    const corrected = { ...known, version: known.version + 1, status: endedAs };
    return topics.map((topic) =>
      topic === known ? { ...corrected, endedAtMs: Math.max(endedAtMs, known.startedAtMs) } : topic,
    );
  }
  if (outage.change <= sinceChange) return topics;
  const startedAtMs = Math.min(Date.parse(outage.started_at), endedAtMs);
  const incident: Incident = {
    ...newIncident(monitor, [], around),
    status: endedAs,
    startedAtMs,
    endedAtMs,
    reason: outage.cause,
    change: outage.change,
  };
  return [...topics, incident];
}
