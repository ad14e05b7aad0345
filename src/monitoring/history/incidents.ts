import { z } from 'zod';
import { MonitorStatus } from '../../contracts/monitoring.ts';
import type { Incident } from '../../contracts/monitoring-additions.ts';
import type { Store } from '../../store/store.ts';
import type { StatusChange } from '../state/state.ts';
import type { Range } from './history-queries.ts';

/** The newest incidents of each monitor are kept. */
const INCIDENTS_COUNT = 100;

/** `number` is the number of the change that began the incident. */
const KeptIncident = z.object({
  number: z.int(),
  startedMs: z.int(),
  endedMs: z.int().optional(),
  endedAs: MonitorStatus.optional(),
  cause: z.string(),
  outcome: z.string(),
});

/** A monitor's incidents, oldest first, with the number of the last change that they include. */
const MonitorIncidents = z.object({ number: z.int(), incidents: z.array(KeptIncident) });
type MonitorIncidents = z.infer<typeof MonitorIncidents>;

/** The incidents that overlap a time, newest first; not `complete` if older ones may have been dropped. */
export interface IncidentsOfTime {
  incidents: Incident[];
  complete: boolean;
}

/** Opens `monitor-incidents`. Monitors that are `isForgotten` get no new ones. */
export function openIncidents(store: Store, isForgotten: (monitor: string) => boolean) {
  const collection = store.collection({
    name: 'monitor-incidents',
    schema: MonitorIncidents,
    version: 1,
    // Lost incidents can't be restored, and new ones must not be refused because of them.
    whenCorrupt: 'forget',
  });
  /** Each monitor's last changes that are being stored. */
  const adding = new Map<string, Promise<unknown>>();

  /** Oldest first, including all changes that were added before. */
  async function read(monitor: string): Promise<MonitorIncidents['incidents']> {
    // The caller of `add` gets the error.
    await adding.get(monitor)?.catch(() => {});
    return (await collection.get(monitor))?.incidents ?? [];
  }

  return {
    /** Resolves when the changes are durably part of their incidents. A repeated change counts once. */
    async add(monitor: string, changes: readonly StatusChange[]): Promise<void> {
      const ofIncidents = changes.filter(isOfIncident);
      if (ofIncidents.length === 0) return;
      const added = collection.update(monitor, (kept) =>
        isForgotten(monitor) ? kept : ofIncidents.reduce(addChange, kept),
      );
      adding.set(monitor, added);
      try {
        await added;
      } finally {
        if (adding.get(monitor) === added) adding.delete(monitor);
      }
    },
    /** Newest first, including all changes that were added before. */
    async list(monitor: string, limit: number): Promise<Incident[]> {
      return toIncidents(monitor, (await read(monitor)).slice(-limit));
    },
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

/** An incident begins or ends with the change. */
export function isOfIncident({ from, to }: StatusChange): boolean {
  return from === 'DOWN' || to === 'DOWN';
}

export function addChange(
  kept: MonitorIncidents | undefined,
  change: StatusChange,
): MonitorIncidents | undefined {
  if (kept && change.number <= kept.number) return kept;
  const incidents = endLast(kept?.incidents ?? [], change);
  if (change.to === 'DOWN') {
    incidents.push({
      number: change.number,
      // A monitor that is DOWN before and after maintenance has two incidents, which must not overlap.
      startedMs: Math.max(change.sinceMs, incidents.at(-1)?.endedMs ?? 0),
      cause: change.reason ?? 'the check failed',
      outcome: change.outcome ?? 'failed',
    });
  }
  return { number: change.number, incidents: incidents.slice(-INCIDENTS_COUNT) };
}

function endLast(incidents: MonitorIncidents['incidents'], change: StatusChange) {
  const last = incidents.at(-1);
  if (!last || last.endedMs !== undefined) return [...incidents];
  const endedMs = Math.max(change.atMs, last.startedMs);
  return [...incidents.slice(0, -1), { ...last, endedMs, endedAs: change.to }];
}

/** ID of the incident that this change of the monitor began. */
export const incidentId = (monitor: string, change: number) => `${monitor}:${change}`;

/** Newest first. */
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
