import type { Logger } from 'pino';
import { plannedTogether } from '../../bot/shared/maintenance-words.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import { ifOffered } from '../../bot/tools/monitors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { PlannedWindow } from '../../contracts/monitoring-additions.ts';
import type { Viewer } from '../login/guards.ts';
import type { StatusMaintenance, StatusPlanned } from './api-types.ts';
import { createRefresh } from './refresh.ts';
import { publicName, utcOf } from './report.ts';

/** Windows that begin later aren't shown yet. */
export const AHEAD_DAYS = 7;

const MAX_READ = 1_000;
const MAX_SHOWN = 20;
/** Monitors that are named in each window. */
const MAX_NAMED = 10;

const MAX_NAME_LENGTH = 200;

/** The planned maintenance of all monitors, if the service offers it. */
export type KnownMaintenance = ReturnType<typeof createStatusMaintenance>;

export function createStatusMaintenance(props: {
  monitoring: () => MonitoringClient;
  everyMs: number;
  log: Logger;
}) {
  const { monitoring, everyMs, log } = props;
  let known: StatusPlanned | undefined;

  function apply(next: StatusPlanned | undefined): boolean {
    if (JSON.stringify(next) === JSON.stringify(known)) return false;
    known = next;
    return true;
  }

  return {
    /** Returns the same object until there is news. */
    at(nowMs: number): StatusPlanned | undefined {
      const windows = known?.windows.filter(({ ends_at }) => Date.parse(ends_at) > nowMs);
      if (known && windows && windows.length < known.windows.length) {
        const { more } = known;
        known = windows.length + more > 0 ? { windows, more } : undefined;
      }
      return known;
    },
    refresh: createRefresh({
      what: 'planned maintenance',
      everyMs,
      read: (signal) =>
        ifOffered(monitoring().planned({ days: AHEAD_DAYS, limit: MAX_READ, signal })),
      apply: (list) => apply(list && plannedOf(list.windows, list.total)),
      log,
    }),
  };
}

/** Groups the listed windows, of `total`, as the page shows them; `undefined` if there are none. Pure. */
export function plannedOf(
  listed: readonly PlannedWindow[],
  total: number,
): StatusPlanned | undefined {
  if (listed.length === 0) return undefined;
  const together = plannedTogether(listed);
  const windows = together.slice(0, MAX_SHOWN).flatMap((window): StatusMaintenance[] => {
    const [starts_at, ends_at] = [utcOf(window.starts_at), utcOf(window.ends_at)];
    if (!starts_at || !ends_at) return [];
    const named = window.monitors.slice(0, MAX_NAMED);
    return [
      {
        starts_at,
        ends_at,
        timezone: window.timezone.slice(0, 100),
        monitors: named.map(({ id, name }) => ({ id, name: shortened(name, MAX_NAME_LENGTH) })),
        more: window.monitors.length - named.length,
        reason: window.reason ? shortened(window.reason, MAX_NAME_LENGTH) : undefined,
      },
    ];
  });
  const more = together.length - windows.length + total - listed.length;
  return { windows, more: Math.max(0, more) };
}

/** Hides reasons and names that are addresses from anyone but members. Pure. */
export function plannedFor(
  viewer: Viewer,
  planned: StatusPlanned | undefined,
): StatusPlanned | undefined {
  if (viewer !== 'anyone' || !planned) return planned;
  const windows = planned.windows.map(({ reason: _reason, monitors, ...window }) => ({
    ...window,
    monitors: monitors.map(({ id, name }) => ({ id, name: publicName({ id, name }) })),
  }));
  return { ...planned, windows };
}
