import type { Monitor } from '../../contracts/monitoring.ts';
import type { CheckRecord } from '../../contracts/monitoring-additions.ts';
import type { Fact } from '../shared/card.ts';
import { isDown } from '../shared/status.ts';
import { inUnits, sparkline } from '../shared/text-format.ts';
import { isRemembered } from './diff.ts';
import { isOpen } from './incidents.ts';
import type { Asking } from './poll-quota.ts';
import type { Incident, Watching } from './watch-state.ts';

export const MAX_RESPONSE_TIMES = 30;

/** Monitors per poll. With more outages at once, nobody looks at response times. */
const MAX_ASKED = 5;
/** Requests reserved for missed outages. */
const LEFT_FOR_MISSED = 10;
const WAIT_MS = 1_500;

/** Monitors that went DOWN since the last poll. None at the first poll, which can't know. Pure. */
export function newlyDown(watching: Watching | undefined, listed: readonly Monitor[]): Monitor[] {
  if (!watching?.isLearned || isRemembered(watching, listed)) return [];
  const before = new Set(watching.known.filter(isDown).map(({ id }) => id));
  for (const alert of watching.alerts) if (isOpen(alert)) before.add(alert.monitorId);
  return listed.filter((monitor) => isDown(monitor) && !before.has(monitor.id));
}

/**
 * Response times of the last passed checks, oldest first, by monitor. An alert doesn't need them, so late answers are
 * left out. A service that counts no changes is never asked.
 */
export async function askResponseTimes(
  down: readonly Monitor[],
  asking: Asking,
): Promise<Map<string, number[]>> {
  const { monitoring, quota, signal, log } = asking;
  const asked = down
    .filter((one) => one.status_changes !== undefined && one.check_type !== 'HEARTBEAT')
    .slice(0, MAX_ASKED)
    .filter(() => quota.take({ leaving: LEFT_FOR_MISSED }));
  if (asked.length === 0) return new Map();
  const wanted = { limit: MAX_RESPONSE_TIMES, signal, timeoutMs: WAIT_MS };
  const answers = await Promise.all(
    asked.map(async ({ id }): Promise<[string, number[]]> => {
      try {
        return [id, timesOf(await monitoring.results(id, wanted))];
      } catch (error) {
        quota.failed(error);
        log.debug({ err: error, monitor: id }, 'could not fetch response times');
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

/** A card on a phone has room for no more on one line. */
const BARS_COUNT = 8;

/** The slowest of each part, in order. */
function inParts(times: readonly number[], count: number): number[] {
  const size = Math.max(1, times.length / count);
  return Array.from({ length: Math.min(count, times.length) }, (_, at) =>
    Math.max(...times.slice(Math.floor(at * size), Math.max(1, Math.floor((at + 1) * size)))),
  );
}

/** Response times before the outage: `▁▁▂▃▇ 120 ms → 2.4 s`, or one time if it hardly changed. Pure. */
export function latencyFacts({ responseTimesMs = [] }: Pick<Incident, 'responseTimesMs'>): Fact[] {
  const first = responseTimesMs[0];
  const last = responseTimesMs.at(-1);
  if (first === undefined || last === undefined) return [];
  const [from, to] = [inUnits(first), inUnits(last)];
  const words = from === to ? to : `${from} → ${to}`;
  const bars = sparkline(inParts(responseTimesMs, BARS_COUNT));
  const line = new Set(bars).size > 1 ? `${bars} ` : '';
  return [{ label: 'Response time', value: line + words }];
}
