import type { Logger } from 'pino';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { STATUS_DAYS, type StatusDays } from './api-types.ts';
import { ifThere } from './facts.ts';

const HOUR_MS = 3_600_000;

/** How often days are asked for, after a failure, and of a service that has none. */
const EVERY_MS = 5 * 60_000;
const AFTER_FAILURE_MS = 60_000;
const WITHOUT_MS = 30 * 60_000;

/** Answers read in a row: ten thousand monitors are twenty. */
const MAX_ANSWERS = 40;

/** The days of monitors, where the service tells them. */
export type KnownDays = ReturnType<typeof createStatusDays>;

/** Keeps the days of all monitors. A service of the contract alone has none, and that is no failure. */
export function createStatusDays({
  monitoring,
  log,
}: {
  monitoring: () => MonitoringClient;
  log: Logger;
}) {
  let known = new Map<string, StatusDays>();
  let nextMs = 0;

  async function read(signal: AbortSignal): Promise<boolean> {
    const next: typeof known = new Map();
    let isNews = false;
    let after: string | undefined;
    for (let answers = 0; answers < MAX_ANSWERS; answers += 1) {
      const list = await ifThere(
        monitoring().days({ days: STATUS_DAYS, signal, ...(after && { after }) }),
      );
      if (!list) {
        nextMs = Date.now() + WITHOUT_MS;
        next.clear();
        break;
      }
      for (const { id, up_ms, down_ms } of list.monitors) {
        const before = known.get(id);
        const days = { last: list.last, up_ms, down_ms };
        const isSame = before !== undefined && isNoNews(before, days);
        next.set(id, isSame ? before : days);
        isNews ||= !isSame;
      }
      if (list.next === null) break;
      after = list.next;
    }
    isNews ||= next.size !== known.size;
    known = next;
    return isNews;
  }

  return {
    /** The same object while there is no news of them. */
    of: (monitor: string) => known.get(monitor),
    /** Asks for them when it is time; resolves to true when some are new. Never rejects. */
    async refresh(signal: AbortSignal) {
      if (Date.now() < nextMs) return false;
      nextMs = Date.now() + EVERY_MS;
      try {
        return await read(signal);
      } catch (error) {
        nextMs = Date.now() + AFTER_FAILURE_MS;
        log.debug({ err: error }, "could not load the monitors' daily history for the status page");
        return false;
      }
    },
  };
}

/** Whether the bars look the same: today has grown by less than an hour, and nothing else has changed. */
function isNoNews(before: StatusDays, now: StatusDays): boolean {
  const places = now.up_ms.length;
  if (before.last !== now.last || before.up_ms.length !== places) return false;
  return now.up_ms.every((upMs, place) => {
    const wasUpMs = before.up_ms[place] ?? 0;
    const isGrowing = place === places - 1 && wasUpMs > 0 && upMs - wasUpMs < HOUR_MS;
    return (isGrowing || upMs === wasUpMs) && now.down_ms[place] === before.down_ms[place];
  });
}
