import { z } from 'zod';
import { MonitorStatus } from '../../contracts/monitoring.ts';
import type { Incident } from '../../contracts/monitoring-additions.ts';
import type { Store } from '../../store/store.ts';
import type { StatusChange } from '../state/state.ts';
import type { Range } from './history-queries.ts';

/** Incidents kept for each monitor, the newest. */
const INCIDENTS_COUNT = 100;

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

/** The incidents that overlap a time, newest first, and whether these are all. */
export interface IncidentsOfTime {
  incidents: Incident[];
  complete: boolean;
}

/** Opens `monitor-incidents`: those that changes of status make. `isForgotten` tells monitors that are gone. */
export function openIncidents(store: Store, isForgotten: (monitor: string) => boolean) {
  const collection = store.collection({
    name: 'monitor-incidents',
    schema: MonitorIncidents,
    version: 1,
    // Nobody can write them again, and new ones must not be refused for old ones.
    whenCorrupt: 'forget',
  });
  /** The last changes under way of each monitor. */
  const adding = new Map<string, Promise<unknown>>();

  /** Oldest first, with all changes in them that were given before. */
  async function read(monitor: string): Promise<MonitorIncidents['incidents']> {
    // Whoever gave the change has the error when it could not be added.
    await adding.get(monitor)?.catch(() => {});
    return (await collection.get(monitor))?.incidents ?? [];
  }

  return {
    /** Resolves when the changes are part of their incidents, durably. A change given twice counts once. */
    async add(monitor: string, changes: readonly StatusChange[]): Promise<void> {
      const ofIncidents = changes.filter(isOfIncident);
      if (ofIncidents.length === 0) return;
      const added = collection.update(monitor, (kept) =>
        isForgotten(monitor) ? kept : ofIncidents.reduce(fold, kept),
      );
      adding.set(monitor, added);
      try {
        await added;
      } finally {
        if (adding.get(monitor) === added) adding.delete(monitor);
      }
    },
    /** Newest first, with all changes in them that were given before. */
    async list(monitor: string, limit: number): Promise<Incident[]> {
      return toIncidents(monitor, (await read(monitor)).slice(-limit));
    },
    /** The same of a time; not `complete` when there may have been others that are not kept any more. */
    async during(monitor: string, range: Range): Promise<IncidentsOfTime> {
      const kept = await read(monitor);
      const overlapping = kept.filter(
        ({ startedMs, endedMs = Number.POSITIVE_INFINITY }) =>
          startedMs < range.toMs && endedMs > range.fromMs,
      );
      const [oldest] = kept;
      return {
        incidents: toIncidents(monitor, overlapping),
        complete: kept.length < INCIDENTS_COUNT || (oldest?.startedMs ?? 0) <= range.fromMs,
      };
    },
    async forget(monitor: string): Promise<void> {
      await collection.update(monitor, () => undefined);
    },
  };
}

/** Whether an incident begins or ends with a change. */
export function isOfIncident({ from, to }: StatusChange): boolean {
  return from === 'DOWN' || to === 'DOWN';
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

/** Newest first, of what is kept oldest first. */
const toIncidents = (monitor: string, kept: MonitorIncidents['incidents']) =>
  kept.map((incident) => toIncident(monitor, incident)).reverse();

function toIncident(monitor: string, incident: MonitorIncidents['incidents'][number]): Incident {
  const { number, startedMs, endedMs, endedAs, cause, outcome } = incident;
  return {
    id: incidentId(monitor, number),
    change: number,
    started_at: new Date(startedMs).toISOString(),
    ended_at: endedMs === undefined ? null : new Date(endedMs).toISOString(),
    cause,
    outcome,
    ended_as: endedAs ?? null,
  };
}
