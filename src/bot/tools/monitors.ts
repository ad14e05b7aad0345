import { StatusError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { orAborted } from '../../contracts/or-aborted.ts';
import { matches } from '../channels/channels.ts';
import { CommandError } from '../shared/errors.ts';
import { isDown, isPaused, isUp } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';

/** Monitors that are named where several match. */
const MAX_NAMED = 10;

/** The monitor that is meant: by id, by name, or by a part that only one has. Throws `CommandError`. Pure. */
export function findMonitor(monitors: readonly Monitor[], meant: string): Monitor {
  const byId = monitors.find(({ id }) => id === meant);
  if (byId) return byId;
  const named = monitors.filter(({ name }) => name.toLowerCase() === meant.toLowerCase());
  const candidates =
    named.length > 0 ? named : monitors.filter((monitor) => matches(monitor, meant));
  const [only, ...others] = candidates;
  if (!only) {
    throw new CommandError(`No monitor called “${shortened(meant, 60)}”. See /monitor list.`);
  }
  if (others.length === 0) return only;
  const names = candidates
    .slice(0, MAX_NAMED)
    .map(({ name, id }) => `${shortened(name, 60)} (id ${id})`);
  const more = candidates.length > MAX_NAMED ? `, and ${candidates.length - MAX_NAMED} more` : '';
  throw new CommandError(
    `${candidates.length} monitors match “${shortened(meant, 60)}”: ${names.join(', ')}${more}. Say which, by name or id.`,
  );
}

/** A list is as good as a new one for so long. */
const SHARED_LIST_MS = 10_000;

/** A client for one answer: its look-ups share one list, since each finds its monitor by name. A check ends that. */
export function withSharedList(monitoring: MonitoringClient): MonitoringClient {
  let latest: { list: Promise<Monitor[]>; atMs: number } | undefined;
  return {
    ...monitoring,
    async list(options = {}) {
      if (!latest || performance.now() - latest.atMs > SHARED_LIST_MS) {
        const asked = { list: monitoring.list(options), atMs: performance.now() };
        latest = asked;
        asked.list.catch(() => {
          if (latest === asked) latest = undefined;
        });
      }
      return await (options.signal ? orAborted(latest.list, options.signal) : latest.list);
    },
    async check(id, options) {
      const checked = await monitoring.check(id, options);
      latest = undefined;
      return checked;
    },
  };
}

/** What the contract does not have, another service need not offer: then `undefined`. */
export async function ifOffered<T>(asked: Promise<T>): Promise<T | undefined> {
  return await asked.catch((error: unknown) => {
    if (error instanceof StatusError && [404, 405, 501].includes(error.status)) return undefined;
    throw error;
  });
}

/** The same where nothing can be told without: then a `CommandError` that says so. */
export async function offered<T>(what: string, asked: Promise<T>): Promise<T> {
  const found = await ifOffered(asked);
  if (found !== undefined) return found;
  throw new CommandError(
    `The monitoring service does not offer ${what}, or the monitor was just removed.`,
  );
}

/** The page of the console that shows a monitor. */
export const pageOf = ({ id }: { id: string }) => `/status#/${encodeURIComponent(id)}`;

/** DOWN first, then whatever else is not UP, then UP, then paused; by name within. Pure. */
export function byUrgency(monitors: readonly Monitor[]): Monitor[] {
  return monitors
    .map((monitor) => ({ monitor, rank: urgency(monitor) }))
    .sort(
      ({ monitor: a, rank }, { monitor: b, rank: other }) =>
        rank - other || a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1),
    )
    .map(({ monitor }) => monitor);
}

/** How soon somebody has to know of a status: the less, the sooner. Pure. */
export function urgency(of: { status: string }): number {
  if (isDown(of)) return of.status.toUpperCase() === 'DOWN' ? 0 : 1;
  if (isPaused(of)) return 4;
  return isUp(of) ? 3 : 2;
}
