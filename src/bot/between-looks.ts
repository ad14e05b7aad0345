import type { Logger } from 'pino';
import { StatusError } from '../clients/errors.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Monitor } from '../contracts/monitoring.ts';
import type { Incident as Outage } from '../contracts/monitoring-additions.ts';
import type { AskBudget } from './ask-budget.ts';
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

/** Monitors asked about after one look, since they are asked one after another and alerts wait for them. */
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
 * Asks the service what happened between two looks, as far as the budget allows: what is asked is taken from it at once,
 * before anybody else may. A service of the contract alone does not count changes and is never asked. `later` are the ids
 * of those that are to be asked about after the next look.
 */
export async function askMissed(
  changed: ReadonlyArray<Omit<Missed, 'outages'>>,
  options: { monitoring: MonitoringClient; budget: AskBudget; signal: AbortSignal; log: Logger },
): Promise<{ missed: Missed[]; later: Set<string> }> {
  const { monitoring, budget, signal, log } = options;
  const missed: Missed[] = [];
  const asked = changed.slice(0, MAX_ASKED).filter(() => budget.take());
  const later = new Set(changed.slice(asked.length).map(({ monitor }) => monitor.id));
  for (const { monitor, sinceChange } of asked) {
    if (!budget.mayAsk()) {
      later.add(monitor.id);
      continue;
    }
    try {
      const outages = await monitoring.incidents(monitor.id, { limit: MAX_OUTAGES, signal });
      missed.push({ monitor, sinceChange, outages });
    } catch (error) {
      budget.failed(error);
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
    const before = inOrder.filter(({ change }) => change <= sinceChange);
    const after = inOrder.filter(({ change }) => change > sinceChange);
    const corrected = withTrueEnd(all, monitor, { before, next: after[0] }, around);
    return after.reduce(
      (now, outage, at) => withOutage(now, monitor, { outage, next: after[at + 1] }, around),
      corrected,
    );
  }, topics);
}

/**
 * The incident that was known at the look before, with its end. What people saw as one, because it was DEGRADED in between,
 * may be several outages at the service: it is over with the last of them.
 */
function withTrueEnd(
  topics: Topic[],
  monitor: Monitor,
  { before, next }: { before: readonly Outage[]; next: Outage | undefined },
  around: Surroundings,
): Topic[] {
  const last = before.at(-1);
  const own = topics.filter(
    (topic): topic is Incident =>
      topic.kind === 'incident' &&
      topic.monitorId === monitor.id &&
      before.some(({ change }) => change === topic.change),
  );
  const known = own.sort((a, b) => (a.change ?? 0) - (b.change ?? 0)).at(-1);
  return known && last?.ended_at ? withEnd(topics, known, { outage: last, next }, around) : topics;
}

function withOutage(
  topics: Topic[],
  monitor: Monitor,
  { outage, next }: { outage: Outage; next: Outage | undefined },
  around: Surroundings,
): Topic[] {
  if (outage.ended_at === null) return topics;
  const isSame = (topic: Topic): topic is Incident =>
    topic.kind === 'incident' && topic.monitorId === monitor.id && topic.change === outage.change;
  const known = topics.find(isSame);
  if (known) return withEnd(topics, known, { outage, next }, around);
  const endedAtMs = Math.min(Date.parse(outage.ended_at), around.nowMs);
  const incident: Incident = {
    ...newIncident(monitor, [], around),
    status: outage.ended_as ?? 'UP',
    startedAtMs: Math.min(Date.parse(outage.started_at), endedAtMs),
    endedAtMs,
    reason: outage.cause,
    change: outage.change,
  };
  return [...topics, incident];
}

/** Ends an incident with an outage, unless it has an end that is right: before the next one began. */
function withEnd(
  topics: Topic[],
  known: Incident,
  { outage, next }: { outage: Outage; next: Outage | undefined },
  { nowMs }: Surroundings,
): Topic[] {
  // While nobody could be asked, it was taken to end with a later one.
  const untilMs = known.endedAtMs ?? Number.POSITIVE_INFINITY;
  if (untilMs <= (next ? Date.parse(next.started_at) : nowMs)) return topics;
  const endedAtMs = Math.min(Date.parse(outage.ended_at ?? ''), nowMs);
  const ended: Incident = {
    ...known,
    version: known.version + 1,
    status: outage.ended_as ?? 'UP',
    endedAtMs: Math.max(endedAtMs, known.startedAtMs),
  };
  return topics.map((topic) => (topic === known ? ended : topic));
}
