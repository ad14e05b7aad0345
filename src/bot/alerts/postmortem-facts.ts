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

/** How long each question to the service may take; without its answer the rest is told. */
const ASK_MS = 5_000;

/** As many as a service gives at once. */
const RESULTS = 100;

/** How far back it is looked how the monitor did before. */
export const BEFORE_DAYS = 30;

const DAY_MS = 86_400_000;

/** What somebody asked in a thread, and when it was answered. */
export interface ThreadQuestion {
  text: string;
  atMs: number;
}

/** What the monitoring service knows of a monitor; `undefined` is what could not be fetched. */
export interface ServiceFacts {
  /** Active monitors as they are now. */
  monitors: readonly Monitor[] | undefined;
  /** Its last checks, oldest first. */
  results: readonly CheckRecord[] | undefined;
  /** Its incidents of the days before and of the incident itself, newest first. */
  incidents: { incidents: readonly ServiceIncident[]; complete: boolean } | undefined;
  /** Of the same time. */
  uptime: Uptime | undefined;
}

/** Asks the service for what it knows of the monitor of an incident. Throws only when the signal aborts. */
export async function fetchServiceFacts(
  found: ThreadIncident,
  options: { monitoring: MonitoringClient; nowMs: number; signal: AbortSignal },
): Promise<ServiceFacts> {
  const { monitoring, nowMs, signal } = options;
  const within = { signal, timeoutMs: ASK_MS };
  if (found.incident.reported) {
    // The service knows nothing of what others report.
    const [monitors] = await Promise.allSettled([monitoring.list(within)]);
    signal.throwIfAborted();
    return {
      monitors: fetched(monitors),
      ...{ results: undefined, incidents: undefined, uptime: undefined },
    };
  }
  const id = found.incident.monitorId;
  const { fromMs, toMs = nowMs } = spanOf(found.incident);
  const range = { from: isoTime(fromMs - BEFORE_DAYS * DAY_MS), to: isoTime(toMs) };
  const [monitors, results, incidents, uptime] = await Promise.allSettled([
    monitoring.list(within),
    monitoring.results(id, { limit: RESULTS, ...within }),
    monitoring.incidentList({ monitor: id, limit: RESULTS, ...range, ...within }),
    monitoring.uptime(id, { ...range, ...within }),
  ]);
  signal.throwIfAborted();
  return {
    monitors: fetched(monitors),
    results: fetched(results)?.toReversed(),
    incidents: fetched(incidents),
    uptime: fetched(uptime),
  };
}

/** From when to when something was in trouble, as far as that was seen; without an end it goes on. Pure. */
export function spanOf(
  told: Pick<Incident, 'startedAtMs' | 'endedAtMs'> & {
    flapping?: { fromMs: number } | undefined;
    flapped?: { fromMs: number } | undefined;
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

/** The same of all that a message tells of. Pure. */
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
