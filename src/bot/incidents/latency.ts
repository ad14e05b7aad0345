import type { Logger } from 'pino';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { CheckRecord } from '../../contracts/monitoring-additions.ts';
import type { Fact } from '../shared/card.ts';
import { isDown } from '../shared/status.ts';
import { isOpen } from './incidents.ts';
import type { AskBudget } from './poll-quota.ts';
import type { Watching } from './watch-state.ts';

/** Last checks that are asked for, and response times that are kept of an incident. */
export const MAX_RESPONSE_TIMES = 30;

/** Monitors asked about after one look: who reads of more outages at once looks at no curves. */
const MAX_ASKED = 5;
/** Requests left to those that find out what was missed. */
const LEFT_FOR_MISSED = 10;
/** How long alerts wait for all of them. */
const WAIT_MS = 1_500;

/** Monitors that are DOWN and were not at the look before; none at the first look, when they may be so for long. Pure. */
export function newlyDown(watching: Watching | undefined, listed: readonly Monitor[]): Monitor[] {
  if (!watching?.learnt) return [];
  const before = new Set(watching.known.filter(isDown).map(({ id }) => id));
  for (const topic of watching.topics) if (isOpen(topic)) before.add(topic.monitorId);
  return listed.filter((monitor) => isDown(monitor) && !before.has(monitor.id));
}

/**
 * The response times of the last checks that passed, oldest first, by monitor. Those that do not come in time, or that
 * the budget does not allow, are left out: an alert does not need them. A service of the contract alone, which counts no
 * changes, is never asked.
 */
export async function askResponseTimes(
  down: readonly Monitor[],
  options: { monitoring: MonitoringClient; budget: AskBudget; signal: AbortSignal; log: Logger },
): Promise<Map<string, number[]>> {
  const { monitoring, budget, log } = options;
  const asked = down
    .filter((one) => one.status_changes !== undefined && one.check_type !== 'HEARTBEAT')
    .slice(0, MAX_ASKED)
    .filter(() => budget.take({ leaving: LEFT_FOR_MISSED }));
  if (asked.length === 0) return new Map();
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(WAIT_MS)]);
  const answers = await Promise.all(
    asked.map(async ({ id }): Promise<[string, number[]]> => {
      try {
        return [id, timesOf(await monitoring.results(id, { limit: MAX_RESPONSE_TIMES, signal }))];
      } catch (error) {
        budget.failed(error);
        log.debug({ err: error, monitor: id }, 'response times could not be asked for');
        return [id, []];
      }
    }),
  );
  return new Map(answers.filter(([, times]) => times.length > 0));
}

function timesOf(results: readonly CheckRecord[]): number[] {
  return results
    .slice(0, MAX_RESPONSE_TIMES)
    .filter(({ ok }) => ok)
    .map(({ response_time_ms: ms }) => Math.round(ms * 10) / 10)
    .reverse();
}

/** How the answers were before it went down: `▁▁▂▃▇ 120 ms → 2.4 s`. Pure. */
export function latencyFacts({
  responseTimesMs = [],
}: {
  responseTimesMs?: number[] | undefined;
}): Fact[] {
  const first = responseTimesMs[0];
  const last = responseTimesMs.at(-1);
  if (first === undefined || last === undefined) return [];
  const [from, to] = [inUnits(first), inUnits(last)];
  const words = from === to ? to : `${from} → ${to}`;
  const line = responseTimesMs.length > 1 ? `${sparkline(responseTimesMs)} ` : '';
  return [{ label: 'Response time', value: line + words }];
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/**
 * One bar for each value, from the lowest value up. The scale reaches at least to its double, so that a jitter is no
 * mountain, and at most to ten times the median, so that one huge value does not flatten all others. Pure.
 */
export function sparkline(values: readonly number[]): string {
  const inOrder = [...values].sort((a, b) => a - b);
  const lowest = inOrder[0] ?? 0;
  const median = inOrder[Math.floor(inOrder.length / 2)] ?? 0;
  const highest = Math.max(Math.min(inOrder.at(-1) ?? 0, 10 * median), 2 * lowest);
  const span = highest - lowest || 1;
  return values
    .map((value) => {
      const height = Math.min(1, (value - lowest) / span);
      return BARS[Math.round(height * (BARS.length - 1))];
    })
    .join('');
}

/** A response time as people say it: `<1 ms`, `120 ms`, `2.4 s`, `12 s`. Pure. */
export function inUnits(ms: number): string {
  if (ms < 0.5) return '<1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
