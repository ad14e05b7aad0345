import { createHash } from 'node:crypto';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Viewer } from '../login/guards.ts';
import type { StatusEvent, StatusMonitor, StatusReport } from './api-types.ts';
import { plannedFor } from './maintenance.ts';
import type { StatusSnapshot } from './poller.ts';
import { publicMonitor } from './report.ts';

/** Writes what is known as JSON: once for all who see the same, and a monitor once while there is no news of it. */
export type StatusWriter = ReturnType<typeof createStatusWriter>;

export function createStatusWriter() {
  const monitorJson = perViewer<StatusMonitor, string>();
  const reports = perViewer<StatusSnapshot, ReturnType<typeof write>>();

  function jsonOf(monitor: StatusMonitor, viewer: Viewer): string {
    const known = monitorJson[viewer].get(monitor);
    if (known !== undefined) return known;
    const json = JSON.stringify(shownTo(viewer, monitor));
    monitorJson[viewer].set(monitor, json);
    return json;
  }

  /** A report as JSON, with a tag that tells it from another, whenever it was made. */
  async function write(snapshot: StatusSnapshot, viewer: Viewer) {
    const { overall } = snapshot;
    const notice = noticeFor(viewer, snapshot);
    const maintenance = plannedFor(viewer, snapshot.maintenance);
    const head: Omit<StatusReport, 'monitors' | 'generated_at'> = {
      public: viewer === 'anyone',
      overall,
      ...(notice !== undefined && { notice }),
      ...(maintenance && { maintenance }),
    };
    const monitors: string[] = [];
    const turn = beginTurn();
    for (const monitor of snapshot.monitors) {
      monitors.push(jsonOf(monitor, viewer));
      if (turn.isOver()) await turn.next();
    }
    const rest = `${JSON.stringify(head).slice(1, -1)},"monitors":[${monitors.join(',')}]}`;
    const time = JSON.stringify(new Date(snapshot.atMs).toISOString());
    return { json: Buffer.from(`{"generated_at":${time},${rest}`), tag: tagOf(rest) };
  }

  return {
    report(snapshot: StatusSnapshot, viewer: Viewer) {
      const known = reports[viewer].get(snapshot);
      if (known) return known;
      const writing = write(snapshot, viewer);
      reports[viewer].set(snapshot, writing);
      return writing;
    },
    /** What became of `before`, as JSON; `undefined` when nothing is new. */
    changed(before: StatusSnapshot, snapshot: StatusSnapshot, viewer: Viewer) {
      const known = new Map(before.monitors.map((monitor) => [monitor.id, monitor]));
      const monitors = snapshot.monitors
        .filter((monitor) => known.get(monitor.id) !== monitor)
        .map((monitor) => withoutOldDays(shownTo(viewer, monitor), known.get(monitor.id)));
      const notice = noticeFor(viewer, snapshot) ?? null;
      const isOrdered = isSameOrder(before, snapshot);
      const isPlannedAlike = before.maintenance === snapshot.maintenance;
      const isNews =
        monitors.length > 0 ||
        !isOrdered ||
        !isPlannedAlike ||
        before.overall !== snapshot.overall ||
        (noticeFor(viewer, before) ?? null) !== notice;
      if (!isNews) return undefined;
      const event: StatusEvent = {
        kind: 'changed',
        generated_at: new Date(snapshot.atMs).toISOString(),
        overall: snapshot.overall,
        notice,
        ...(!isPlannedAlike && { maintenance: plannedFor(viewer, snapshot.maintenance) ?? null }),
        monitors,
        ...(isOrdered ? {} : { order: snapshot.monitors.map(({ id }) => id) }),
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

const noticeFor = (viewer: Viewer, { notice }: StatusSnapshot) =>
  viewer === 'anyone' ? notice?.shown : notice?.why;

/** Whether the monitors are the same ones in the same order. */
const isSameOrder = (before: StatusSnapshot, { monitors }: StatusSnapshot) =>
  before.monitors.length === monitors.length &&
  monitors.every(({ id }, place) => before.monitors[place]?.id === id);

/** Ninety days are most of what there is to tell of a monitor, and change once in a while. */
function withoutOldDays(monitor: StatusMonitor, before: StatusMonitor | undefined): StatusMonitor {
  if (monitor.days === undefined || monitor.days !== before?.days) return monitor;
  const { days: _days, uptime: _uptime, ...rest } = monitor;
  return rest;
}
