import { createHash } from 'node:crypto';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Viewer } from '../login/guards.ts';
import type { StatusEvent, StatusMonitor, StatusReport } from './api-types.ts';
import { plannedFor } from './maintenance.ts';
import type { StatusSnapshot } from './poller.ts';
import { publicMonitor } from './report.ts';

/** Writes snapshots as JSON, each report once for all viewers of a kind. */
export type StatusWriter = ReturnType<typeof createStatusWriter>;

export function createStatusWriter() {
  const reports = {
    member: new WeakMap<StatusSnapshot, ReturnType<typeof writeReport>>(),
    anyone: new WeakMap<StatusSnapshot, ReturnType<typeof writeReport>>(),
  };
  return {
    report(snapshot: StatusSnapshot, viewer: Viewer) {
      const known = reports[viewer].get(snapshot);
      if (known) return known;
      const writing = writeReport(snapshot, viewer);
      reports[viewer].set(snapshot, writing);
      return writing;
    },
    writeChange,
  };
}

/** Writes a report, with a tag for its content without the time. */
async function writeReport(snapshot: StatusSnapshot, viewer: Viewer) {
  const head: Omit<StatusReport, 'monitors' | 'generated_at'> = {
    public: viewer === 'anyone',
    overall: snapshot.overall,
    notice: noticeFor(viewer, snapshot),
    maintenance: plannedFor(viewer, snapshot.maintenance),
  };
  const monitors: string[] = [];
  const turn = beginTurn();
  for (const monitor of snapshot.monitors) {
    monitors.push(JSON.stringify(monitorFor(viewer, monitor)));
    if (turn.isOver()) await turn.next();
  }
  const rest = `${JSON.stringify(head).slice(1, -1)},"monitors":[${monitors.join(',')}]}`;
  const time = JSON.stringify(new Date(snapshot.atMs).toISOString());
  return { json: Buffer.from(`{"generated_at":${time},${rest}`), tag: tagOf(rest) };
}

/** Writes the difference between two snapshots as an event; `undefined` if there is none. */
function writeChange(
  before: StatusSnapshot,
  snapshot: StatusSnapshot,
  viewer: Viewer,
): string | undefined {
  const known = new Map(before.monitors.map((monitor) => [monitor.id, monitor]));
  const monitors = snapshot.monitors
    .filter((monitor) => known.get(monitor.id) !== monitor)
    .map((monitor) => withoutOldDays(monitorFor(viewer, monitor), known.get(monitor.id)));
  const notice = noticeFor(viewer, snapshot) ?? null;
  const isOrdered = isSameOrder(before, snapshot);
  const isPlannedAlike = before.maintenance === snapshot.maintenance;
  const isSame =
    monitors.length === 0 &&
    isOrdered &&
    isPlannedAlike &&
    before.overall === snapshot.overall &&
    (noticeFor(viewer, before) ?? null) === notice;
  if (isSame) return undefined;
  const event: StatusEvent = {
    kind: 'changed',
    generated_at: new Date(snapshot.atMs).toISOString(),
    overall: snapshot.overall,
    notice,
    maintenance: isPlannedAlike ? undefined : (plannedFor(viewer, snapshot.maintenance) ?? null),
    monitors,
    order: isOrdered ? undefined : snapshot.monitors.map(({ id }) => id),
  };
  return JSON.stringify(event);
}

/** A short text that is the same for the same content only. */
export const tagOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('base64url').slice(0, 22);

const monitorFor = (viewer: Viewer, monitor: StatusMonitor) =>
  viewer === 'anyone' ? publicMonitor(monitor) : monitor;

const noticeFor = (viewer: Viewer, { notice }: StatusSnapshot) =>
  viewer === 'anyone' ? notice?.shown : notice?.why;

const isSameOrder = (before: StatusSnapshot, { monitors }: StatusSnapshot) =>
  before.monitors.length === monitors.length &&
  monitors.every(({ id }, place) => before.monitors[place]?.id === id);

/** Leaves out unchanged days, which are most of a monitor. */
function withoutOldDays(monitor: StatusMonitor, before: StatusMonitor | undefined): StatusMonitor {
  if (monitor.days === undefined || monitor.days !== before?.days) return monitor;
  const { days: _days, uptime: _uptime, ...rest } = monitor;
  return rest;
}
