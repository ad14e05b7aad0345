import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Role } from '../config/variable-types.ts';
import type { Lease, Store } from '../store/store.ts';

const AGAIN_MS = 1_000;

/** After the database was away for everybody, whoever had the role has so long to take it up again. */
const LEFT_TO_HOLDER_MS = 5_000;

/**
 * A role that one process at a time runs; of the others, every process that has them in ASKWATCH_ROLES runs its own. A process
 * that has the role keeps it until it ends. When another process has taken it over all the same, `onTakenOver` is
 * called: what this one knows is old then, and parts of it hold connections, so that it has to be started anew.
 */
export function createSoleRole(
  role: Role,
  options: {
    store: Store;
    signal: AbortSignal;
    onTakenOver: (error: Error) => void;
    log: Logger;
  },
) {
  const { store, signal, onTakenOver, log } = options;

  /** Whether this process has it from now on: nobody else has it now. */
  async function take(): Promise<boolean> {
    const lease = await store.lease(`role-${role}`);
    if (lease) keep(lease);
    return lease !== undefined;
  }

  /** A lease that was lost and that nobody else has had is taken up again: the database was away for everybody. */
  function keep(lease: Lease) {
    lease.signal.addEventListener('abort', () => void takeUp(lease.fence));
  }

  async function takeUp(fence: number) {
    while (!signal.aborted) {
      const found = await store.lease(`role-${role}`).catch(() => 'unknown' as const);
      if (found === 'unknown') {
        await again();
        continue;
      }
      if (found?.fence === fence + 1) return keep(found);
      onTakenOver(
        new Error(
          `another process has taken over the role ${role}, since this one was not heard of in time; start it again, and it waits for its turn`,
        ),
      );
      return;
    }
  }

  const again = () => pause(AGAIN_MS, undefined, { signal }).catch(() => {});

  return {
    take,
    /** Resolves to true once this process has it, and to false when the program stops before that. */
    async wait(): Promise<boolean> {
      log.info(`another process runs the role ${role}; this one takes it over when that one ends`);
      let awayMs = Number.NEGATIVE_INFINITY;
      while (!signal.aborted) {
        await again();
        if (signal.aborted) break;
        const isReachable = await store.check().then(
          () => true,
          () => false,
        );
        if (!isReachable) awayMs = performance.now();
        if (performance.now() - awayMs < LEFT_TO_HOLDER_MS) continue;
        const isTaken = await take().catch((error: unknown) => {
          log.debug({ err: error, role }, 'the role could not be asked for; it is tried again');
          return false;
        });
        if (!isTaken) continue;
        log.info(`this process runs the role ${role} from now on`);
        return true;
      }
      return false;
    },
  };
}
