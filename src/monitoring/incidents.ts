import { z } from 'zod';
import { MonitorStatus } from '../contracts/monitoring.ts';
import type { Incident } from '../contracts/monitoring-additions.ts';
import type { Store } from '../store/store.ts';
import { Outcome, type StatusChange } from './state.ts';

const DAY_MS = 86_400_000;

/** How long changes of status are kept: a year and a bit, so that a year can be looked back on. */
const CHANGES_KEPT_MS = 400 * DAY_MS;

/** Incidents kept for each monitor, the newest. */
const INCIDENTS_COUNT = 100;

/** One change of status. */
const ChangeRecord = z.object({
  atMs: z.int(),
  sinceMs: z.int(),
  monitor: z.string(),
  from: MonitorStatus,
  to: MonitorStatus,
  number: z.int(),
  outcome: Outcome.optional(),
  reason: z.string().optional(),
});

/** An incident as kept; `number` is that of the change it began with. */
const KeptIncident = z.object({
  number: z.int(),
  startedMs: z.int(),
  endedMs: z.int().optional(),
  endedAs: MonitorStatus.optional(),
  cause: z.string(),
  outcome: z.string(),
});

/** The incidents of a monitor, oldest first, with the number of the last change that is in them. */
const MonitorIncidents = z.object({ number: z.int(), incidents: z.array(KeptIncident) });
type MonitorIncidents = z.infer<typeof MonitorIncidents>;

/** Changes of status, and the incidents they make. */
export interface Incidents {
  /** Resolves when the change is durable and part of its incident. A change told twice, by its number, counts once. */
  add(monitor: string, change: StatusChange): Promise<void>;
  /** Newest first. */
  list(monitor: string, limit: number): Promise<Incident[]>;
  /** Makes good what a crash left out between journal and incidents; nothing else is answered before. */
  repair(sinceMs: number): Promise<void>;
  forget(monitor: string): Promise<void>;
  prune(nowMs: number): Promise<void>;
}

/** Opens `monitor-changes` and `monitor-incidents`. `isForgotten` tells monitors that are gone. */
export function openIncidents(store: Store, isForgotten: (monitor: string) => boolean): Incidents {
  const changes = store.journal({ name: 'monitor-changes', schema: ChangeRecord });
  const collection = store.collection({
    name: 'monitor-incidents',
    schema: MonitorIncidents,
    version: 1,
    // Nobody can write them again, and new ones must not be refused for old ones.
    whenCorrupt: 'forget',
  });
  let repaired: Promise<void> = Promise.resolve();

  async function addTo(monitor: string, change: StatusChange): Promise<void> {
    if (change.from !== 'DOWN' && change.to !== 'DOWN') return;
    await collection.update(monitor, (kept) => (isForgotten(monitor) ? kept : fold(kept, change)));
  }

  async function addAll(sinceMs: number): Promise<void> {
    for await (const { monitor, ...change } of changes.read({ fromMs: sinceMs })) {
      await addTo(monitor, definite(change));
    }
  }

  return {
    async add(monitor, change) {
      await changes.append({ monitor, ...change });
      // A change is only added after those before it.
      await repaired;
      await addTo(monitor, change);
    },
    async list(monitor, limit) {
      await repaired;
      const { incidents } = (await collection.get(monitor)) ?? { incidents: [] };
      return incidents
        .slice(-limit)
        .reverse()
        .map((incident) => toIncident(monitor, incident));
    },
    repair(sinceMs) {
      const done = addAll(sinceMs);
      repaired = done.catch(() => {});
      return done;
    },
    async forget(monitor) {
      await repaired;
      await collection.update(monitor, () => undefined);
    },
    prune: (nowMs) => changes.prune(nowMs - CHANGES_KEPT_MS),
  };
}

/** The incidents with a change: it begins one when it is to DOWN, and ends the last when it is away from DOWN. Pure. */
export function fold(
  kept: MonitorIncidents | undefined,
  change: StatusChange,
): MonitorIncidents | undefined {
  if (kept && change.number <= kept.number) return kept;
  const incidents = ended(kept?.incidents ?? [], change);
  if (change.to === 'DOWN') {
    incidents.push({
      number: change.number,
      // Down through a maintenance is two incidents, of which the second does not begin in the first.
      startedMs: Math.max(change.sinceMs, incidents.at(-1)?.endedMs ?? 0),
      cause: change.reason ?? 'the check failed',
      outcome: change.outcome ?? 'failed',
    });
  }
  return { number: change.number, incidents: incidents.slice(-INCIDENTS_COUNT) };
}

function ended(incidents: MonitorIncidents['incidents'], change: StatusChange) {
  const last = incidents.at(-1);
  if (!last || last.endedMs !== undefined) return [...incidents];
  const endedMs = Math.max(change.atMs, last.startedMs);
  return [...incidents.slice(0, -1), { ...last, endedMs, endedAs: change.to }];
}

/** The id of the incident that began with this change of a monitor. */
export const incidentId = (monitor: string, change: number) => `${monitor}:${change}`;

function toIncident(monitor: string, incident: MonitorIncidents['incidents'][number]): Incident {
  const { number, startedMs, endedMs, endedAs, cause, outcome } = incident;
  return {
    id: incidentId(monitor, number),
    started_at: new Date(startedMs).toISOString(),
    ended_at: endedMs === undefined ? null : new Date(endedMs).toISOString(),
    cause,
    outcome,
    ended_as: endedAs ?? null,
  };
}

/** The change without fields that are there but undefined. */
function definite({
  outcome,
  reason,
  ...rest
}: Omit<z.infer<typeof ChangeRecord>, 'monitor'>): StatusChange {
  return { ...rest, ...(outcome && { outcome }), ...(reason !== undefined && { reason }) };
}
