import type { Logger } from 'pino';
import { ifOffered } from '../../bot/tools/monitors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { STATUS_DAYS, type StatusDays } from './api-types.ts';
import { createRefresh } from './refresh.ts';

const HOUR_MS = 3_600_000;

const EVERY_MS = 5 * 60_000;
const AFTER_FAILURE_MS = 60_000;

/** Pages of the list; ten thousand monitors fill twenty. */
const MAX_PAGES = 40;

type DaysById = Map<string, StatusDays>;

export type KnownDays = ReturnType<typeof createStatusDays>;

export function createStatusDays(props: { monitoring: () => MonitoringClient; log: Logger }) {
  const { monitoring, log } = props;
  let known: DaysById = new Map();

  /** Keeps the known object of a monitor whose bars look the same. */
  function apply(next: DaysById = new Map()): boolean {
    let isNews = next.size !== known.size;
    for (const [id, days] of next) {
      const before = known.get(id);
      if (before && looksSame(before, days)) next.set(id, before);
      else isNews = true;
    }
    known = next;
    return isNews;
  }

  return {
    /** Returns the same object until there is news. */
    of: (monitor: string) => known.get(monitor),
    refresh: createRefresh({
      what: "the monitors' daily history",
      everyMs: EVERY_MS,
      afterFailureMs: AFTER_FAILURE_MS,
      read: (signal) => readDays(monitoring(), signal),
      apply,
      log,
    }),
  };
}

async function readDays(
  client: MonitoringClient,
  signal: AbortSignal,
): Promise<DaysById | undefined> {
  const found: DaysById = new Map();
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const list = await ifOffered(client.days({ days: STATUS_DAYS, signal, after }));
    if (!list) return undefined;
    for (const { id, up_ms, down_ms } of list.monitors) {
      found.set(id, { last: list.last, up_ms, down_ms });
    }
    if (list.next === null) break;
    after = list.next;
  }
  return found;
}

/** Ignores that today has grown by less than an hour. */
function looksSame(before: StatusDays, now: StatusDays): boolean {
  const places = now.up_ms.length;
  if (before.last !== now.last || before.up_ms.length !== places) return false;
  return now.up_ms.every((upMs, place) => {
    const wasUpMs = before.up_ms[place] ?? 0;
    const isGrowing = place === places - 1 && wasUpMs > 0 && upMs - wasUpMs < HOUR_MS;
    return (isGrowing || upMs === wasUpMs) && now.down_ms[place] === before.down_ms[place];
  });
}
