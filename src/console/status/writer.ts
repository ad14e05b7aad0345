import { createHash } from 'node:crypto';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Viewer } from '../login/guards.ts';
import type { StatusEvent, StatusMonitor, StatusReport } from './api-types.ts';
import type { Seen } from './poller.ts';
import { publicMonitor } from './report.ts';

/** A report as JSON. */
export interface WrittenReport {
  json: Buffer;
  /** Tells one report from another, whenever it was made. */
  tag: string;
}

/** Writes what is known as JSON: once for all who see the same, and a monitor once while there is no news of it. */
export interface StatusWriter {
  report(seen: Seen, viewer: Viewer): Promise<WrittenReport>;
  /** What became of `before`, as JSON; `undefined` when nothing is new. */
  changed(before: Seen, seen: Seen, viewer: Viewer): string | undefined;
}

export function createStatusWriter(): StatusWriter {
  const monitorJson = perViewer<StatusMonitor, string>();
  const reports = perViewer<Seen, Promise<WrittenReport>>();

  function jsonOf(monitor: StatusMonitor, viewer: Viewer): string {
    const known = monitorJson[viewer].get(monitor);
    if (known !== undefined) return known;
    const json = JSON.stringify(shownTo(viewer, monitor));
    monitorJson[viewer].set(monitor, json);
    return json;
  }

  async function write(seen: Seen, viewer: Viewer): Promise<WrittenReport> {
    const { overall } = seen;
    const notice = noticeFor(viewer, seen);
    const head: Omit<StatusReport, 'monitors' | 'generated_at'> = {
      public: viewer === 'anyone',
      overall,
      ...(notice !== undefined && { notice }),
    };
    const monitors = await inSlices(seen.monitors, (monitor) => jsonOf(monitor, viewer));
    const rest = `${JSON.stringify(head).slice(1, -1)},"monitors":[${monitors.join(',')}]}`;
    const time = JSON.stringify(new Date(seen.atMs).toISOString());
    return { json: Buffer.from(`{"generated_at":${time},${rest}`), tag: tagOf(rest) };
  }

  return {
    report(seen, viewer) {
      const known = reports[viewer].get(seen);
      if (known) return known;
      const writing = write(seen, viewer);
      reports[viewer].set(seen, writing);
      return writing;
    },
    changed(before, seen, viewer) {
      const known = new Map(before.monitors.map((monitor) => [monitor.id, monitor]));
      const monitors = seen.monitors
        .filter((monitor) => known.get(monitor.id) !== monitor)
        .map((monitor) => withoutOldDays(shownTo(viewer, monitor), known.get(monitor.id)));
      const notice = noticeFor(viewer, seen) ?? null;
      const isOrdered = isSameOrder(before, seen);
      const isNews =
        monitors.length > 0 ||
        !isOrdered ||
        before.overall !== seen.overall ||
        (noticeFor(viewer, before) ?? null) !== notice;
      if (!isNews) return undefined;
      const event: StatusEvent = {
        kind: 'changed',
        generated_at: new Date(seen.atMs).toISOString(),
        overall: seen.overall,
        notice,
        monitors,
        ...(isOrdered ? {} : { order: seen.monitors.map(({ id }) => id) }),
      };
      return JSON.stringify(event);
    },
  };
}

/** A short text that is the same for the same content only. */
export const tagOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('base64url').slice(0, 22);

const perViewer = <K extends object, V>(): Record<Viewer, WeakMap<K, V>> => ({
  member: new WeakMap(),
  anyone: new WeakMap(),
});

const shownTo = (viewer: Viewer, monitor: StatusMonitor) =>
  viewer === 'anyone' ? publicMonitor(monitor) : monitor;

const noticeFor = (viewer: Viewer, { notice }: Seen) =>
  viewer === 'anyone' ? notice?.shown : notice?.why;

/** Whether the monitors are the same ones in the same order. */
const isSameOrder = (before: Seen, { monitors }: Seen) =>
  before.monitors.length === monitors.length &&
  monitors.every(({ id }, place) => before.monitors[place]?.id === id);

/** Ninety days are most of what there is to tell of a monitor, and change once in a while. */
function withoutOldDays(monitor: StatusMonitor, before: StatusMonitor | undefined): StatusMonitor {
  if (monitor.days === undefined || monitor.days !== before?.days) return monitor;
  const { days: _days, uptime: _uptime, ...rest } = monitor;
  return rest;
}

async function inSlices<T>(things: readonly T[], write: (thing: T) => string): Promise<string[]> {
  const texts: string[] = [];
  const turn = beginTurn();
  for (const thing of things) {
    texts.push(write(thing));
    if (turn.isOver()) await turn.next();
  }
  return texts;
}
