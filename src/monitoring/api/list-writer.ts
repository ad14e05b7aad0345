import { beginTurn } from '../../contracts/event-loop.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { listedMonitor } from './monitor-answers.ts';

export type ListWriter = ReturnType<typeof createListWriter>;

/** Writes lists of monitors as JSON, and lets other work have its turn, because a list may hold ten thousand. */
export function createListWriter({
  wallMs,
  isStale,
}: {
  wallMs: () => number;
  isStale: (monitor: WatchedMonitor) => boolean;
}) {
  const writeMonitor = (monitor: WatchedMonitor) =>
    JSON.stringify(listedMonitor(monitor, { wallMs: wallMs(), stale: isStale(monitor) }));

  return {
    /** `isShown` is called when a monitor is written, because it may have changed since the request. */
    async list(
      monitors: readonly WatchedMonitor[],
      isShown: (monitor: WatchedMonitor) => boolean,
      next?: string | null,
    ): Promise<Buffer> {
      const rows: string[] = [];
      const turn = beginTurn();
      for (const monitor of monitors) {
        if (isShown(monitor)) rows.push(writeMonitor(monitor));
        if (turn.isOver()) await turn.next();
      }
      return joinRows(rows, { next });
    },
    /** Writes the monitors that `shownMonitor` finds; the other IDs are `removed`. Calls `cursor` once these are written. */
    async changes(
      ids: Iterable<string>,
      shownMonitor: (id: string) => WatchedMonitor | undefined,
      cursor: () => string,
    ): Promise<Buffer> {
      const rows: string[] = [];
      const removed: string[] = [];
      const turn = beginTurn();
      for (const id of ids) {
        const monitor = shownMonitor(id);
        if (monitor) rows.push(writeMonitor(monitor));
        else removed.push(id);
        if (turn.isOver()) await turn.next();
      }
      return joinRows(rows, { removed, cursor: cursor() });
    },
  };
}

function joinRows(rows: readonly string[], fields: object): Buffer {
  const end = JSON.stringify(fields).slice(1);
  const head = `{"count":${rows.length},"monitors":[${rows.join(',')}]`;
  return Buffer.from(end === '}' ? `${head}}` : `${head},${end}`);
}

/** The first `count` IDs after `after`, sorted; `next` is the last one if more follow. */
export function pageAfter(
  ids: readonly string[],
  after: string,
  count: number,
): { ids: string[]; next: string | null } {
  const rest = ids.filter((id) => id > after).sort();
  const page = rest.slice(0, count);
  return { ids: page, next: rest.length > page.length ? (page.at(-1) ?? null) : null };
}
