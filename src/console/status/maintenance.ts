import type { Logger } from 'pino';
import { plannedTogether } from '../../bot/shared/maintenance-words.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { PlannedWindow } from '../../contracts/monitoring-additions.ts';
import type { Viewer } from '../login/guards.ts';
import type { StatusMaintenance, StatusPlanned } from './api-types.ts';
import { ifThere } from './facts.ts';
import { publicName, utcOf } from './report.ts';

/** How far ahead the page looks. */
export const AHEAD_DAYS = 7;

/** Windows that are asked for, those that are shown, and monitors that are named in each. */
const MAX_ASKED = 1_000;
const MAX_SHOWN = 20;
const MAX_NAMED = 10;

const MAX_NAME_LENGTH = 200;

/** How often it is asked for of a service that does not tell it. */
const WITHOUT_MS = 30 * 60_000;

/** What is planned of all monitors, where the service tells it. */
export type KnownMaintenance = ReturnType<typeof createStatusMaintenance>;

/** Keeps what is planned, asked for every `everyMs` at most. */
export function createStatusMaintenance({
  monitoring,
  everyMs,
  log,
}: {
  monitoring: () => MonitoringClient;
  everyMs: number;
  log: Logger;
}) {
  let known: StatusPlanned | undefined;
  let nextMs = 0;

  async function read(signal: AbortSignal): Promise<boolean> {
    const asked = { days: AHEAD_DAYS, limit: MAX_ASKED, signal };
    const list = await ifThere(monitoring().planned(asked));
    if (!list) nextMs = Date.now() + WITHOUT_MS;
    const now = list && plannedOf(list.windows, list.total);
    if (JSON.stringify(now) === JSON.stringify(known)) return false;
    known = now;
    return true;
  }

  return {
    /** The same object while there is no news. */
    at(nowMs: number): StatusPlanned | undefined {
      const windows = known?.windows.filter(({ ends_at }) => Date.parse(ends_at) > nowMs);
      if (known && windows && windows.length < known.windows.length) {
        const { more } = known;
        known = windows.length + more > 0 ? { windows, more } : undefined;
      }
      return known;
    },
    /** Asks when it is time; resolves to true when there is news. Never rejects. */
    async refresh(signal: AbortSignal): Promise<boolean> {
      if (Date.now() < nextMs) return false;
      nextMs = Date.now() + everyMs;
      try {
        return await read(signal);
      } catch (error) {
        log.debug({ err: error }, 'could not load planned maintenance for the status page');
        return false;
      }
    },
  };
}

/** What is shown of windows of which there are `total`; `undefined` when there are none. Pure. */
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
        ...(window.reason && { reason: shortened(window.reason, MAX_NAME_LENGTH) }),
      },
    ];
  });
  const more = together.length - windows.length + total - listed.length;
  return { windows, more: Math.max(0, more) };
}

/** The windows as a viewer may see them: anyone gets neither reasons nor names that are addresses. Pure. */
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
