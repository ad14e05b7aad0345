import { beginTurn } from '../../contracts/event-loop.ts';
import { Monitor } from '../../contracts/monitoring.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { isFlapping } from '../state/state.ts';
import { listedMonitor } from './monitor-answers.ts';

/** What writes the monitors that answers hold. */
export type ListWriter = ReturnType<typeof createListWriter>;

const NOTHING = Buffer.alloc(0);
const TAIL = Buffer.from(']}');

/** A monitor as JSON, and all that it was made from. */
interface Written {
  published: WatchedMonitor['published'];
  definition: WatchedMonitor['definition'];
  managedBy: WatchedMonitor['managedBy'];
  channels: WatchedMonitor['channels'];
  stale: boolean;
  flapping: boolean;
  /** After a comma. In bytes, as they are sent: putting texts together costs ten times as much. */
  json: Buffer;
}

/**
 * Writes lists of monitors as JSON. The whole is asked for all the time and may hold ten thousand, so a monitor is written
 * and checked against the contract only when it has changed, and other work comes in between.
 */
export function createListWriter(tools: {
  wallMs: () => number;
  isStale: (monitor: WatchedMonitor) => boolean;
}) {
  const written = new WeakMap<WatchedMonitor, Written>();

  function jsonOf(monitor: WatchedMonitor): Buffer {
    const { published, definition, managedBy, channels } = monitor;
    const wallMs = tools.wallMs();
    const stale = tools.isStale(monitor);
    const flapping = isFlapping(published, wallMs);
    const known = written.get(monitor);
    if (
      known?.published === published &&
      known.definition === definition &&
      known.managedBy === managedBy &&
      known.channels === channels &&
      known.stale === stale &&
      known.flapping === flapping
    ) {
      return known.json;
    }
    const listed = Monitor.parse(listedMonitor(monitor, { wallMs, stale }));
    const json = Buffer.from(`,${JSON.stringify(listed)}`);
    written.set(monitor, { published, definition, managedBy, channels, stale, flapping, json });
    return json;
  }

  function joined(parts: readonly Buffer[], tail: Buffer): Buffer {
    const head = Buffer.from(`{"count":${parts.length},"monitors":[`);
    const [first, ...rest] = parts;
    return Buffer.concat([head, first?.subarray(1) ?? NOTHING, ...rest, tail]);
  }

  return {
    async list(
      monitors: readonly WatchedMonitor[],
      /** Asked when a monitor is written: it may have changed since the list was asked for. */
      isShown: (monitor: WatchedMonitor) => boolean,
      next?: string | null,
    ): Promise<Buffer> {
      const parts: Buffer[] = [];
      const turn = beginTurn();
      for (const monitor of monitors) {
        if (isShown(monitor)) parts.push(jsonOf(monitor));
        if (turn.isOver()) await turn.next();
      }
      const tail = next === undefined ? TAIL : Buffer.from(`],"next":${JSON.stringify(next)}}`);
      return joined(parts, tail);
    },
    /** Those of some ids that are shown, and which of them are not; `cursor` is asked for once these are written. */
    async changes(
      ids: Iterable<string>,
      shown: (id: string) => WatchedMonitor | undefined,
      cursor: () => string,
    ): Promise<Buffer> {
      const parts: Buffer[] = [];
      const removed: string[] = [];
      const turn = beginTurn();
      for (const id of ids) {
        const monitor = shown(id);
        if (monitor) parts.push(jsonOf(monitor));
        else removed.push(id);
        if (turn.isOver()) await turn.next();
      }
      const rest = JSON.stringify({ removed, cursor: cursor() });
      return joined(parts, Buffer.from(`],${rest.slice(1)}`));
    },
  };
}

/** The first `count` of the ids that come after one, in their order, and the last of these when more follow. */
export function pageAfter(
  ids: readonly string[],
  after: string,
  count: number,
): { ids: string[]; next: string | null } {
  const rest = ids.filter((id) => id > after).sort();
  const page = rest.slice(0, count);
  return { ids: page, next: rest.length > page.length ? (page.at(-1) ?? null) : null };
}
