import { z } from 'zod';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import type { MaintenanceWindow } from '../../src/contracts/monitoring-additions.ts';
import { HISTORY_STATE } from '../../src/monitoring/history/history.ts';
import { snapshotOf } from '../../src/monitoring/history/hourly-aggregator.ts';
import { openIncidents } from '../../src/monitoring/history/incidents.ts';
import {
  coveredEntry,
  type HistoryEntry,
  resultEntry,
} from '../../src/monitoring/history/result-record.ts';
import { openResultsJournal } from '../../src/monitoring/history/results-journal.ts';
import { openRollups } from '../../src/monitoring/history/rollups.ts';
import {
  addSnapshot,
  countUntil,
  type StatusSince,
  startAccount,
  type Tally,
} from '../../src/monitoring/history/uptime-accounting.ts';
import { hashToken } from '../../src/monitoring/monitors/heartbeat.ts';
import type { MonitorState, StatusChange } from '../../src/monitoring/state/state.ts';
import type { Store } from '../../src/store/store.ts';
import { MONITORS } from './plan.ts';
import {
  HOUR_MS,
  isWithin,
  looksOf,
  MINUTE_MS,
  NOW_MS,
  type OpenSpan,
  type PlannedMonitor,
  periodAt,
  responseTimeAt,
  STOPS,
} from './planned-monitor.ts';

/** Hours before are stored; the last one is still open, as it is after every start. */
const STORED_MS = NOW_MS - HOUR_MS;

/** Single results go back so far: somewhat more than what a start reads, and what minutes are counted from. */
const RESULTS_FROM_MS = NOW_MS - 3 * HOUR_MS;

/** Results of a monitor that is seldom checked: a few more than what is stored with its hours. */
const NEWEST_COUNT = 25;

/** Monitors that are written at one time: the hours of all of them at once would be much garbage. */
const TOGETHER_COUNT = 10;

/** Entries in one record of the journal. */
const BATCH_COUNT = 500;

/** Status changes that count as flapping. */
const FLAPPING_TURNS = 5;
const FLAPPING_MS = 15 * MINUTE_MS;

/** Writes the recorded week into an empty store, as a service that has watched over it would have left it. */
export const writeRecordedWeek = (store: Store): Promise<void> => writeHistory(store, MONITORS);

/** Writes the past of planned monitors into an empty store, up to the moment at which the clock stands. */
export async function writeHistory(
  store: Store,
  monitors: readonly PlannedMonitor[],
): Promise<void> {
  const definitions = store.collection({
    name: 'monitors',
    schema: z.looseObject({}),
    version: 2,
    whenCorrupt: 'refuse',
  });
  const rollups = openRollups(store, () => false);
  const incidents = openIncidents(store, () => false);
  const results: HistoryEntry[] = [];

  async function write(monitor: PlannedMonitor) {
    const { id } = monitor;
    const changes = changesOf(monitor);
    const entries = entriesOf(monitor);
    results.push(...entries.filter(({ atMs }) => atMs >= RESULTS_FROM_MS));
    const stored = entries.filter(({ atMs }) => atMs < STORED_MS);
    const last = stored.at(-1);
    await Promise.all([
      definitions.update(id, () => documentOf(monitor, changes)),
      incidents.add(id, changes),
      rollups.add(id, {
        finalMs: STORED_MS,
        last: last && snapshotOf(last),
        hours: hoursOf(monitor),
        entries: stored,
      }),
    ]);
  }

  for (let at = 0; at < monitors.length; at += TOGETHER_COUNT) {
    await Promise.all(monitors.slice(at, at + TOGETHER_COUNT).map(write));
  }
  await writeResults(store, results);
  const { id, name, schema, version } = HISTORY_STATE;
  const history = store.collection({ name, schema, version, whenCorrupt: 'forget' });
  await history.update(id, () => ({ openSinceMs: STORED_MS }));
}

async function writeResults(store: Store, results: readonly HistoryEntry[]): Promise<void> {
  const journal = openResultsJournal(store, 'recorded-week');
  const inOrder = [...results].sort((a, b) => a.atMs - b.atMs);
  const batches: HistoryEntry[][] = [];
  for (let at = 0; at < inOrder.length; at += BATCH_COUNT) {
    batches.push(inOrder.slice(at, at + BATCH_COUNT));
  }
  await Promise.all(batches.map((batch) => journal.append(batch)));
}

/** A monitor as the service stores it. */
function documentOf(monitor: PlannedMonitor, changes: readonly StatusChange[]) {
  const { id, type, definition, createdMs, settingsChangedMs } = monitor;
  return {
    definition: MonitorCreate.parse(definition),
    createdAtMs: createdMs,
    settingsChangedAtMs: settingsChangedMs,
    // The token is the id, so that a test can ping.
    ...(type === 'HEARTBEAT' && { tokenHash: hashToken(id) }),
    maintenance: windowsOf(monitor),
    state: stateOf(monitor, changes),
  };
}

const windowsOf = ({ periods }: PlannedMonitor): MaintenanceWindow[] =>
  periods.flatMap(({ status, fromMs, toMs, reason }) => {
    if (status !== 'MAINTENANCE' || toMs === undefined) return [];
    const [starts_at, ends_at] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
    return [{ starts_at: starts_at ?? '', ends_at: ends_at ?? '', ...(reason && { reason }) }];
  });

/** Every change of the status of a monitor until now. */
function changesOf({ periods }: PlannedMonitor): StatusChange[] {
  const changes: StatusChange[] = [];
  const add = (to: StatusChange['to'], atMs: number, problem: Partial<StatusChange> = {}) => {
    const from = changes.at(-1)?.to ?? 'UP';
    changes.push({ atMs, sinceMs: atMs, from, to, number: changes.length + 1, ...problem });
  };
  for (const [place, { status, fromMs, toMs, outcome, reason }] of periods.entries()) {
    const isProblem = status === 'DOWN' || status === 'DEGRADED';
    add(status, fromMs, isProblem ? { outcome, reason } : {});
    const isOver = toMs !== undefined && toMs <= NOW_MS;
    if (isOver && periods[place + 1]?.fromMs !== toMs) add('UP', toMs);
  }
  return changes;
}

function stateOf(monitor: PlannedMonitor, changes: readonly StatusChange[]): MonitorState {
  const { createdMs, lastCheckedMs, responseTimeMs, certificateEndsMs } = monitor;
  const last = changes.at(-1);
  const status = last?.to ?? 'UP';
  const isCovered = status === 'PAUSED' || status === 'MAINTENANCE';
  const before = changes.at(-2);
  const found = isCovered ? before : last;
  const bad = found?.to === 'DOWN' || found?.to === 'DEGRADED' ? found.to : undefined;
  const turns = changes
    .filter(({ from, to }) => from === 'DOWN' || to === 'DOWN')
    .map(({ atMs }) => atMs);
  const flips = turns.slice(-FLAPPING_TURNS);
  const isFlapping = flips.length === FLAPPING_TURNS && (flips[0] ?? 0) >= NOW_MS - FLAPPING_MS;
  return {
    status,
    sinceMs: last?.atMs ?? createdMs,
    changes: changes.length,
    ...(isCovered && {
      underlying: { status: bad ?? 'UP', sinceMs: before?.atMs ?? createdMs },
    }),
    failures: 0,
    successes: 0,
    degradations: 0,
    ...(bad && {
      problem: { outcome: found?.outcome ?? 'failed', reason: found?.reason ?? '' },
    }),
    flips,
    flapping: isFlapping,
    lastCheckedMs,
    responseTimeMs,
    certificateEndsMs,
  };
}

/** Returns the newest entries of a monitor: all since `RESULTS_FROM_MS`, and older ones that its hours keep. */
function entriesOf(monitor: PlannedMonitor): HistoryEntry[] {
  const { id, everyMs, createdMs, periods } = monitor;
  const last = periods.at(-1);
  const endMs = last?.status === 'PAUSED' ? last.fromMs : STORED_MS;
  const span = {
    fromMs: Math.max(createdMs, Math.min(RESULTS_FROM_MS, endMs - NEWEST_COUNT * everyMs)),
    toMs: NOW_MS,
  };
  const covered = periods
    .filter(({ status, fromMs }) => isCover(status) && isWithin(fromMs, span))
    .map(({ fromMs }) => coveredEntry(id, fromMs));
  const found = looksOf(monitor, span).map((atMs) => entryAt(monitor, atMs));
  return [...covered, ...found].sort((a, b) => a.atMs - b.atMs);
}

const isCover = (status: string | undefined) => status === 'PAUSED' || status === 'MAINTENANCE';

function entryAt(monitor: PlannedMonitor, atMs: number): HistoryEntry {
  const { status, outcome, reason } = periodAt(monitor, atMs) ?? {};
  const found = status === 'DOWN' || status === 'DEGRADED' ? status : 'UP';
  const result = {
    ok: found !== 'DOWN',
    responseTimeMs: responseTimeAt(monitor, atMs) ?? 0,
    outcome: found === 'UP' ? ('ok' as const) : (outcome ?? 'failed'),
    ...(found !== 'UP' && reason !== undefined && { reason }),
  };
  return resultEntry(monitor.id, atMs, result, {
    found,
    everyMs: monitor.everyMs,
    covered: isCover(status),
  });
}

/** The hours of a monitor that are stored. */
function hoursOf(monitor: PlannedMonitor): Tally[] {
  const time = startAccount({ lengthMs: HOUR_MS, countedMs: 0, last: undefined });
  // Counted from one turn to the next, not from check to check: these would be four millions.
  for (const atMs of turnsOf(monitor)) {
    addSnapshot(time, { atMs, worthMs: NOW_MS, as: countsAs(monitor, atMs) });
  }
  countUntil(time, STORED_MS);
  return time.tallies.map((tally) => withChecks(tally, monitor));
}

/** When what is seen of a monitor becomes something else. */
function turnsOf({ createdMs, periods }: PlannedMonitor): number[] {
  const spans: OpenSpan[] = [...periods, ...STOPS];
  const turns = spans.flatMap(({ fromMs, toMs = NOW_MS }) => [fromMs, toMs]);
  return [createdMs, ...turns]
    .filter((atMs) => atMs >= createdMs && atMs < STORED_MS)
    .sort((a, b) => a - b);
}

function countsAs(monitor: PlannedMonitor, atMs: number): StatusSince['as'] {
  const status = periodAt(monitor, atMs)?.status;
  if (isCover(status) || STOPS.some((stop) => isWithin(atMs, stop))) return 'unseen';
  return status === 'DOWN' ? 'down' : 'up';
}

/** An hour with as many checks as there was time for. */
function withChecks(tally: Tally, { everyMs, phaseMs, levels }: PlannedMonitor): Tally {
  const { startMs, spans, upMs, downMs } = tally;
  const before = (atMs: number) => Math.ceil((atMs - phaseMs) / everyMs);
  const times = before(startMs + HOUR_MS) - before(startMs);
  const seenMs = upMs + downMs;
  const failures = Math.max(downMs > 0 ? 1 : 0, Math.round((times * downMs) / HOUR_MS));
  const checks = Math.max(failures, Math.round((times * seenMs) / HOUR_MS));
  const passed = checks - failures;
  const ms = levels.findLast(({ fromMs }) => fromMs <= startMs)?.ms ?? 0;
  const took = passed === 0 ? 0 : ms;
  const [minMs, sumMs, maxMs] = [0.9 * took, passed * took, 1.1 * took];
  return { startMs, spans, checks, failures, upMs, downMs, minMs, sumMs, maxMs };
}
