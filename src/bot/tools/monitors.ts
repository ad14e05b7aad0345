import { StatusError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { orAborted } from '../../contracts/or-aborted.ts';
import { matches } from '../channels/monitor-filter.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';
import type { DraftAlert } from './reported-alerts.ts';
import type { ToolContext } from './tool.ts';

/** Monitors that an error names if several match. */
const MAX_NAMED = 10;

/** Finds a monitor in the service's list. Throws `CommandError`. */
export async function monitorMeant(
  meant: string,
  { monitoring, signal }: Pick<ToolContext, 'monitoring' | 'signal'>,
): Promise<Monitor> {
  return findMonitor(await monitoring.list({ signal }), meant);
}

/** True if a text is the id or the whole name. */
export const isNamed = ({ id, name }: { id: string; name: string }, text: string) =>
  id === text || name.toLowerCase() === text.toLowerCase();

/** Finds a monitor by id, by name, or by a part that only one has. Throws `CommandError`. Pure. */
export const findMonitor = (monitors: readonly Monitor[], meant: string): Monitor =>
  findOne(monitors, meant, {
    several: 'monitors',
    none: `No monitor called “${shortened(meant, 60)}”. See /monitor list.`,
  });

/** Finds a monitor, or an alert of the channel, like `findMonitor`. Throws `CommandError`. Pure. */
export const findMonitorOrAlert = (
  monitors: readonly Monitor[],
  alerts: readonly DraftAlert[],
  meant: string,
): Monitor | DraftAlert =>
  findOne<Monitor | DraftAlert>([...monitors, ...alerts], meant, {
    several: 'monitors and alerts',
    none: `No monitor called “${shortened(meant, 60)}”, and no such alert is firing in this channel. See /monitor list.`,
  });

/** `cause` tells alerts of the same name apart. */
type Findable = { id: string; name: string; target?: string; cause?: string };

function findOne<T extends Findable>(
  all: readonly T[],
  meant: string,
  words: { several: string; none: string },
): T {
  const byId = all.find(({ id }) => id === meant);
  if (byId) return byId;
  const named = all.filter((one) => isNamed(one, meant));
  const candidates = named.length > 0 ? named : all.filter((one) => matches(one, { text: meant }));
  const [only, ...others] = candidates;
  if (!only) throw new CommandError(words.none);
  if (others.length === 0) return only;
  const names = candidates
    .slice(0, MAX_NAMED)
    .map(
      ({ name, id, cause }) =>
        `${shortened(name, 60)} (id ${id}${cause ? `: ${shortened(cause, 100)}` : ''})`,
    );
  const more = candidates.length > MAX_NAMED ? `, and ${candidates.length - MAX_NAMED} more` : '';
  throw new CommandError(
    `${candidates.length} ${words.several} match “${shortened(meant, 60)}”: ${names.join(', ')}${more}. Say which, by name or id.`,
  );
}

/** One list for everyone who asks within `freshMs`. A failed one isn't kept. */
export function shareList(
  load: () => Promise<Monitor[]>,
  freshMs: number,
): () => Promise<Monitor[]> {
  let latest: { list: Promise<Monitor[]>; atMs: number } | undefined;
  return () => {
    if (!latest || performance.now() - latest.atMs >= freshMs) {
      const request = { list: load(), atMs: performance.now() };
      request.list.catch(() => {
        if (latest === request) latest = undefined;
      });
      latest = request;
    }
    return latest.list;
  };
}

const SHARED_LIST_MS = 10_000;

/** A client for one answer: its look-ups share one list, because each finds its monitor by name. A new check discards it. */
export function withSharedList(monitoring: MonitoringClient): MonitoringClient {
  let list = shareList(() => monitoring.list(), SHARED_LIST_MS);
  return {
    ...monitoring,
    list: async ({ signal } = {}) => await (signal ? orAborted(list(), signal) : list()),
    async check(id, options) {
      const checked = await monitoring.check(id, options);
      list = shareList(() => monitoring.list(), SHARED_LIST_MS);
      return checked;
    },
  };
}

/** Resolves to `undefined` if the service doesn't offer this: the contract is smaller than ours. */
export async function ifOffered<T>(
  request: Promise<T>,
  statuses: readonly number[] = [404, 405, 501],
): Promise<T | undefined> {
  return await request.catch((error: unknown) => {
    if (error instanceof StatusError && statuses.includes(error.status)) return undefined;
    throw error;
  });
}

/** Throws a `CommandError` if the service doesn't offer this. */
export async function offered<T>(what: string, request: Promise<T>): Promise<T> {
  const found = await ifOffered(request);
  if (found !== undefined) return found;
  throw new CommandError(
    `The monitoring service does not offer ${what}, or the monitor was just removed.`,
  );
}

/** The page of the console that shows a monitor. */
export const pageOf = ({ id }: { id: string }) => `/status#/${encodeURIComponent(id)}`;
