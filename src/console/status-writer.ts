import { setImmediate } from 'node:timers/promises';
import type { Seen } from './status-looks.ts';
import { publicMonitor } from './status-report.ts';
import type { StatusEvent, StatusMonitor, StatusReport } from './status-wire.ts';

/** Who is told: those who may open the console, or anyone. */
export type Audience = 'member' | 'public';

/** How long writing may hold up everything else at once. */
const SLICE_MS = 10;

/** Writes what is known as JSON. A monitor is written once for each audience while there is no news of it. */
export interface StatusWriter {
  report(seen: Seen, audience: Audience): Promise<string>;
  /** What became of `before`; `undefined` when nothing is new. */
  changed(before: Seen, seen: Seen, audience: Audience): string | undefined;
}

export function createStatusWriter(): StatusWriter {
  const written = {
    member: new WeakMap<StatusMonitor, string>(),
    public: new WeakMap<StatusMonitor, string>(),
  };

  function jsonOf(monitor: StatusMonitor, audience: Audience): string {
    const known = written[audience].get(monitor);
    if (known !== undefined) return known;
    const json = JSON.stringify(shownTo(audience, monitor));
    written[audience].set(monitor, json);
    return json;
  }

  return {
    async report(seen, audience) {
      const head: Omit<StatusReport, 'monitors'> = {
        generated_at: new Date(seen.atMs).toISOString(),
        public: audience === 'public',
        overall: seen.overall,
        ...(seen.notice && { notice: noticeFor(audience, seen) }),
      };
      const monitors = await inSlices(seen.monitors, (monitor) => jsonOf(monitor, audience));
      return `${JSON.stringify(head).slice(0, -1)},"monitors":[${monitors.join(',')}]}`;
    },
    changed(before, seen, audience) {
      const known = new Map(before.monitors.map((monitor) => [monitor.id, monitor]));
      const monitors = seen.monitors
        .filter((monitor) => known.get(monitor.id) !== monitor)
        .map((monitor) => withoutOldDays(shownTo(audience, monitor), known.get(monitor.id)));
      const notice = noticeFor(audience, seen) ?? null;
      const isNews =
        monitors.length > 0 ||
        !isOrdered(before, seen) ||
        before.overall !== seen.overall ||
        (noticeFor(audience, before) ?? null) !== notice;
      if (!isNews) return undefined;
      const generated_at = new Date(seen.atMs).toISOString();
      const event: StatusEvent = {
        kind: 'changed',
        generated_at,
        overall: seen.overall,
        notice,
        monitors,
        ...(isOrdered(before, seen) ? {} : { order: seen.monitors.map(({ id }) => id) }),
      };
      return JSON.stringify(event);
    },
  };
}

const shownTo = (audience: Audience, monitor: StatusMonitor) =>
  audience === 'public' ? publicMonitor(monitor) : monitor;

const noticeFor = (audience: Audience, { notice }: Seen) =>
  audience === 'public' ? notice?.shown : notice?.why;

/** Whether the monitors are the same ones in the same order. */
const isOrdered = (before: Seen, { monitors }: Seen) =>
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
  let sliceStartMs = performance.now();
  for (const thing of things) {
    texts.push(write(thing));
    if (performance.now() - sliceStartMs < SLICE_MS) continue;
    await setImmediate();
    sliceStartMs = performance.now();
  }
  return texts;
}
