import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type {
  CheckRecord,
  Incident as ServiceIncident,
  Uptime,
} from '../../contracts/monitoring-additions.ts';
import type { ThreadIncident } from '../incidents/incident-service.ts';
import type { Group, Incident } from '../incidents/watch-state.ts';
import { isoTime } from '../tools/tool.ts';

/** Without an answer in this time, the other facts are used. */
const ASK_MS = 5_000;

const RESULTS = 100;

export const BEFORE_DAYS = 30;

const DAY_MS = 86_400_000;

/** A question in a thread and the time of its answer. */
export interface ThreadQuestion {
  text: string;
  atMs: number;
}

/** A monitor as the service knows it. `undefined` if it couldn't be fetched. */
export interface ServiceFacts {
  monitors: readonly Monitor[] | undefined;
  /** Oldest first. */
  results: readonly CheckRecord[] | undefined;
  /** Newest first. */
  incidents: { incidents: readonly ServiceIncident[]; complete: boolean } | undefined;
  uptime: Uptime | undefined;
}

/** Throws only if the signal aborts. */
export async function fetchServiceFacts(
  found: ThreadIncident,
  options: { monitoring: MonitoringClient; nowMs: number; signal: AbortSignal },
): Promise<ServiceFacts> {
  const { monitoring, nowMs, signal } = options;
  const within = { signal, timeoutMs: ASK_MS };
  const { monitorId: id, reported } = found.incident;
  const { fromMs, toMs = nowMs } = spanOf(found.incident);
  const range = { from: isoTime(fromMs - BEFORE_DAYS * DAY_MS), to: isoTime(toMs) };
  const [monitors, results, incidents, uptime] = await Promise.allSettled([
    monitoring.list(within),
    // The service doesn't know reported alerts.
    reported ? undefined : monitoring.results(id, { limit: RESULTS, ...within }),
    reported
      ? undefined
      : monitoring.incidentList({ monitor: id, limit: RESULTS, ...range, ...within }),
    reported ? undefined : monitoring.uptime(id, { ...range, ...within }),
  ]);
  signal.throwIfAborted();
  return {
    monitors: fetched(monitors),
    results: fetched(results)?.toReversed(),
    incidents: fetched(incidents),
    uptime: fetched(uptime),
  };
}

/** From the first to the last moment of trouble. Without an end it is ongoing. Pure. */
export function spanOf(
  told: Pick<Incident, 'startedAtMs' | 'endedAtMs'> & {
    flapping?: { fromMs: number };
    flapped?: { fromMs: number };
  },
): { fromMs: number; toMs: number | undefined } {
  const { startedAtMs, endedAtMs, flapping, flapped } = told;
  const fromMs = Math.min(
    startedAtMs,
    flapping?.fromMs ?? startedAtMs,
    flapped?.fromMs ?? startedAtMs,
  );
  return { fromMs, toMs: endedAtMs };
}

export function wholeSpan(
  incident: Incident,
  group: Group | undefined,
): { fromMs: number; toMs: number | undefined } {
  return (group?.members ?? [incident]).map(spanOf).reduce((all, one) => ({
    fromMs: Math.min(all.fromMs, one.fromMs),
    toMs:
      all.toMs === undefined || one.toMs === undefined ? undefined : Math.max(all.toMs, one.toMs),
  }));
}

const fetched = <T>(settled: PromiseSettledResult<T>) =>
  settled.status === 'fulfilled' ? settled.value : undefined;
