import { z } from 'zod';
import { MonitorStatus } from '../contracts/monitoring.ts';
import type { Store } from '../store/store.ts';
import { type CheckResult, Outcome, type StatusChange } from './state.ts';

const DAY_MS = 86_400_000;

/** How long results of checks are kept. */
const RESULTS_KEPT_MS = 7 * DAY_MS;

/** How long changes of status are kept: a year and a bit, so that a year can be looked back on. */
const CHANGES_KEPT_MS = 400 * DAY_MS;

/** One check: when it ended and how. */
export const ResultRecord = z.object({
  atMs: z.int(),
  monitor: z.string(),
  ok: z.boolean(),
  outcome: Outcome,
  responseTimeMs: z.number(),
  reason: z.string().optional(),
});
export type ResultRecord = z.infer<typeof ResultRecord>;

/** One change of status. */
export const ChangeRecord = z.object({
  atMs: z.int(),
  sinceMs: z.int(),
  monitor: z.string(),
  from: MonitorStatus,
  to: MonitorStatus,
  number: z.int(),
  outcome: Outcome.optional(),
  reason: z.string().optional(),
});
export type ChangeRecord = z.infer<typeof ChangeRecord>;

/** What happened to the monitors, in time order: every result of a check, and every change of status. */
export interface MonitorJournals {
  addResult(monitor: string, atMs: number, result: CheckResult): Promise<void>;
  /** A change may stand here twice after a crash; its `number` tells. */
  addChange(monitor: string, change: StatusChange): Promise<void>;
  /** Removes results that are older than seven days, and changes that are older than 400. */
  prune(nowMs: number): Promise<void>;
}

/** Opens `monitor-results` and `monitor-changes`. */
export function openMonitorJournals(store: Store): MonitorJournals {
  const results = store.journal({ name: 'monitor-results', schema: ResultRecord });
  const changes = store.journal({ name: 'monitor-changes', schema: ChangeRecord });
  return {
    addResult: (monitor, atMs, result) => results.append({ atMs, monitor, ...result }),
    addChange: (monitor, change) => changes.append({ monitor, ...change }),
    async prune(nowMs) {
      await results.prune(nowMs - RESULTS_KEPT_MS);
      await changes.prune(nowMs - CHANGES_KEPT_MS);
    },
  };
}
