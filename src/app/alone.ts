import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Role } from '../config/variable-types.ts';
import type { Lease, Store } from '../store/store.ts';

/** Parts that one process at a time runs; of the others, every process that has them in ASKWATCH_ROLES runs its own. */
const ALONE: readonly Role[] = ['monitoring', 'bot', 'console'];

const AGAIN_MS = 1_000;

/**
 * Waits until this process may run those of its parts that only one process runs, and says so to whoever started it.
 * When another process has taken them over, `onTakenOver` is called: what this one knows is old then.
 */
export async function takeRolesAlone(
  store: Store,
  roles: ReadonlySet<Role>,
  options: { signal: AbortSignal; onTakenOver: (error: Error) => void; log: Logger },
): Promise<void> {
  const { signal, onTakenOver, log } = options;
  const wanted = ALONE.filter((role) => roles.has(role));
  const list = wanted.join(', ');
  let isWaiting = false;
  while (!signal.aborted) {
    const leases = await takeAll(store, wanted);
    if (leases) {
      if (isWaiting) log.info(`this process runs ${list} from now on`);
      for (const [role, lease] of leases) keep(role, lease);
      return;
    }
    if (!isWaiting) {
      log.info(`another process runs ${list}; this one waits, and takes over when that one ends`);
    }
    isWaiting = true;
    await pause(AGAIN_MS, undefined, { signal }).catch(() => {});
  }

  /** A lease that was lost and that nobody else has had is taken up again: the database was away for everybody. */
  function keep(role: Role, lease: Lease) {
    lease.signal.addEventListener('abort', () => void takeUp(role, lease.fence));
  }

  async function takeUp(role: Role, fence: number) {
    while (!signal.aborted) {
      const found = await takeOne(store, role).catch(() => 'unknown' as const);
      if (found === 'unknown') {
        await pause(AGAIN_MS, undefined, { signal }).catch(() => {});
        continue;
      }
      if (found?.fence === fence + 1) return keep(role, found);
      onTakenOver(
        new Error(
          `another process has taken over ${role}, since this one was not heard of in time`,
        ),
      );
      return;
    }
  }
}

const takeOne = (store: Store, role: Role) => store.lease(`role-${role}`);

/** All of them or none. */
async function takeAll(store: Store, roles: readonly Role[]) {
  const taken: Array<[Role, Lease]> = [];
  for (const role of roles) {
    const lease = await takeOne(store, role);
    if (lease) {
      taken.push([role, lease]);
      continue;
    }
    await Promise.all(taken.map(([, each]) => each.release()));
    return undefined;
  }
  return taken;
}
