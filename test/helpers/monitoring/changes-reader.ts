import type { Monitor, MonitorList } from '../../../src/contracts/monitoring.ts';
import { CURSOR_HEADER, type MonitorChanges } from '../../../src/contracts/monitoring-additions.ts';
import type { Service } from './service.ts';

const MONITORS = '/api/v1/public/monitors';

/** What is listed of monitors, but for what makes no change of one; by id. */
export const compared = (monitors: Iterable<Monitor>) =>
  Object.fromEntries(
    [...monitors].map((monitor) => {
      const { last_checked_at, response_time_ms, flapping, stale, ...rest } = monitor;
      return [monitor.id, rest];
    }),
  );

/** Reads a list, and from then on what changes, from whichever process it is told to ask. */
export function createChangesReader({ query = '' } = {}) {
  let held = new Map<string, Monitor>();
  let cursor: string | undefined;
  /** How often each kind of answer came. */
  const answers = { lists: 0, changes: 0, resets: 0 };

  async function readList(service: Pick<Service, 'get'>) {
    const { status, body, headers } = await service.get(`${MONITORS}?${query}`);
    if (status !== 200) throw new Error(`the list was answered ${status}`);
    const { monitors } = body as unknown as MonitorList;
    held = new Map(monitors.map((monitor) => [monitor.id, monitor]));
    cursor = headers[CURSOR_HEADER];
    answers.lists += 1;
  }

  return {
    answers,
    cursor: () => cursor ?? '',
    monitors: () => compared(held.values()),
    /** Reads on; gives what came, nothing when that was a list. */
    async read(service: Pick<Service, 'get'>): Promise<MonitorChanges | undefined> {
      if (cursor === undefined) {
        await readList(service);
        return undefined;
      }
      const { status, body } = await service.get(`${MONITORS}/changes?after=${cursor}&${query}`);
      if (status === 410) {
        answers.resets += 1;
        await readList(service);
        return undefined;
      }
      if (status !== 200) throw new Error(`changes were answered ${status}`);
      const changes = body as unknown as MonitorChanges;
      answers.changes += 1;
      for (const id of changes.removed) held.delete(id);
      for (const monitor of changes.monitors) held.set(monitor.id, monitor);
      ({ cursor } = changes);
      return changes;
    },
  };
}
