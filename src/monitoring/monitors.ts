import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ErrorCode } from '../contracts/error.ts';
import { MonitorCreate } from '../contracts/monitoring.ts';
import { HttpError } from '../http/errors.ts';
import type { Store } from '../store/store.ts';
import { createToken, hashToken } from './heartbeat.ts';
import type { MonitorJournals } from './journals.ts';
import { MonitorState, presumedUp, type StatusChange, type Step } from './state.ts';

/** Monitors one service takes. Our choice: what one process is known to check on time. */
export const MAX_MONITORS = 10_000;

/** A monitor as stored; its id is the document's. */
const StoredMonitor = z.object({
  definition: MonitorCreate,
  createdAtMs: z.int(),
  /** HEARTBEAT only: the hash of its push token. */
  tokenHash: z.string().length(64).optional(),
  state: MonitorState,
});
type StoredMonitor = z.infer<typeof StoredMonitor>;

/** A monitor in memory: what is stored, and what is known newer. */
export interface WatchedMonitor extends StoredMonitor {
  readonly id: string;
}

/** All monitors: read from memory, kept in the store. */
export interface Monitors {
  /** In the order they were made. */
  all(): WatchedMonitor[];
  count(): number;
  get(id: string): WatchedMonitor | undefined;
  byToken(token: string): WatchedMonitor | undefined;
  /** Stores a new monitor; `token` exists only in this answer. Throws a 409 when there are too many. */
  add(definition: MonitorCreate): Promise<{ monitor: WatchedMonitor; token: string | undefined }>;
  /**
   * Takes over what a check or ping made of a monitor, at once in memory; resolves when what must last is durable.
   * `always` stores it even when only the time of the last check is new. When storing fails it rejects, memory keeps
   * what is true, and the next call stores it.
   */
  settle(id: string, step: Step, options?: { always: boolean }): Promise<void>;
}

/** Reads all monitors into memory. Throws `CorruptDocumentError` when one cannot be read. */
export async function openMonitors(options: {
  store: Store;
  journals: MonitorJournals;
  wallMs: () => number;
  log: Logger;
  limit?: number;
}): Promise<Monitors> {
  const { store, journals, wallMs, log, limit = MAX_MONITORS } = options;
  const collection = store.collection({
    name: 'monitors',
    schema: StoredMonitor,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const monitors = new Map<string, WatchedMonitor>();
  const idsByTokenHash = new Map<string, string>();
  /** Being stored, or not stored because the store failed: changes not yet in the journal, and the last write. */
  const unstored = new Map<string, { changes: StatusChange[]; written: Promise<void> }>();
  let adding = 0;

  function keep(monitor: WatchedMonitor) {
    monitors.set(monitor.id, monitor);
    if (monitor.tokenHash) idsByTokenHash.set(monitor.tokenHash, monitor.id);
  }

  const stored = await collection.list();
  stored.sort((a, b) => a.document.createdAtMs - b.document.createdAtMs);
  for (const { id, document } of stored) keep({ id, ...document });

  async function save(id: string, changes: StatusChange[]) {
    // The journal first: a crash between the two repeats a change, which its number tells, and loses none.
    for (let change = changes[0]; change !== undefined; change = changes[0]) {
      await journals.addChange(id, change);
      changes.shift();
    }
    await collection.update(id, (current) => {
      const monitor = monitors.get(id);
      return monitor ? documentOf(monitor) : current;
    });
  }

  return {
    all: () => [...monitors.values()],
    count: () => monitors.size,
    get: (id) => monitors.get(id),
    byToken: (token) => monitors.get(idsByTokenHash.get(hashToken(token)) ?? ''),
    async add(definition) {
      if (monitors.size + adding >= limit) {
        throw new HttpError(
          409,
          ErrorCode.limitReached,
          `This service holds ${limit} monitors, the most it takes. The monitor was not created.`,
        );
      }
      const nowMs = wallMs();
      const secret = definition.check_type === 'HEARTBEAT' ? createToken() : undefined;
      const monitor: WatchedMonitor = {
        id: newId(monitors),
        definition,
        createdAtMs: nowMs,
        ...(secret ? { tokenHash: secret.tokenHash } : {}),
        state: presumedUp(nowMs),
      };
      adding += 1;
      try {
        await collection.update(monitor.id, () => documentOf(monitor));
      } finally {
        adding -= 1;
      }
      keep(monitor);
      log.info({ monitor: monitor.id, type: definition.check_type }, 'monitor created');
      return { monitor, token: secret?.token };
    },
    async settle(id, { state, change }, { always } = { always: false }) {
      const monitor = monitors.get(id);
      if (monitor === undefined) return;
      const before = monitor.state;
      monitor.state = state;
      if (change) {
        log.info(
          { monitor: id, from: change.from, to: change.to, reason: change.reason },
          'status',
        );
      }
      const known = unstored.get(id);
      if (!always && !known && !isNews(before, state)) return;
      const entry = known ?? { changes: [], written: Promise.resolve() };
      unstored.set(id, entry);
      if (change) entry.changes.push(change);
      // Writes of one monitor come one after another; one that failed does not stop the next, which stores the same.
      const saved = entry.written.then(() => save(id, entry.changes));
      const settled = saved.catch(() => {});
      entry.written = settled;
      await saved;
      if (entry.written === settled) unstored.delete(id);
    },
  };
}

/** Whether a state differs in what must survive a restart; when it was last checked is written along, not alone. */
function isNews(before: MonitorState, after: MonitorState): boolean {
  return (
    before.status !== after.status ||
    before.changes !== after.changes ||
    before.failures !== after.failures ||
    before.successes !== after.successes ||
    before.blemishes !== after.blemishes ||
    before.beneath?.status !== after.beneath?.status ||
    before.flapping !== after.flapping ||
    before.runStartedMs !== after.runStartedMs ||
    before.problem?.outcome !== after.problem?.outcome
  );
}

function documentOf({ id: _id, ...document }: WatchedMonitor): StoredMonitor {
  return document;
}

function newId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = `mon_${randomBytes(8).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}
