import type { Logger } from 'pino';
import type { Lease, Store } from '../../store/store.ts';
import { withReopened } from '../incidents/closed-places.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import type { Clock } from '../shared/clock.ts';
import { parsePlace } from '../shared/place.ts';

/** Who has it polls and sends; all others only follow what that stores. */
const LEASE = 'alerts';

/** How often it is asked for. */
const AGAIN_MS = 500;

/** What one process does while it has the lease. */
export interface Tenure {
  start(): void;
  /** Looks for what is to be told. */
  wake(): void;
  /** Resolves when nothing of it goes on, after a bounded time. */
  stop(): Promise<void>;
}

/**
 * Has one process at a time poll and send. Each competes for a lease; a holder that dies, or is not heard of for some seconds,
 * is followed by another. `begin` makes what is done under a lease from what is stored by then; `held` is a state that takes changes
 * only while the lease is held, so that a process that was frozen does not go on with what it knew before.
 */
export function createAlerting(options: {
  store: Pick<Store, 'lease' | 'isShared'>;
  state: WatchState;
  begin: (lease: Lease, held: Pick<WatchState, 'current' | 'update'>) => Promise<Tenure>;
  clock: Clock;
  log: Logger;
}) {
  const { store, state, begin, clock, log } = options;
  const stopping = new AbortController();
  let tenure: Tenure | undefined;
  let running: Promise<void> | undefined;

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        const lease = await store.lease(LEASE);
        if (lease) await hold(lease);
        else await clock.pause(AGAIN_MS, stopping.signal);
      } catch (error) {
        log.debug({ err: error }, 'could not take over the alerts; retrying');
        await clock.pause(AGAIN_MS, stopping.signal);
      }
    }
  }

  async function hold(lease: Lease) {
    const over = AbortSignal.any([stopping.signal, lease.signal]);
    try {
      // What the holder before has stored last is known from here on.
      await state.update((watching) => watching);
      const begun = await begin(lease, heldBy(lease));
      tenure = begun;
      if (!over.aborted) begun.start();
      if (store.isShared) log.info('this process now sends the alerts');
      await aborted(over);
      if (store.isShared && !stopping.signal.aborted) {
        log.warn('this process stopped sending alerts: it did not renew its lease in time');
      }
      await begun.stop();
    } finally {
      tenure = undefined;
      await lease.release();
    }
  }

  const heldBy = (lease: Lease) => ({
    current: state.current,
    update: (change: Parameters<WatchState['update']>[0]) =>
      state.update((watching) => {
        if (!lease.isHeld()) {
          void tenure?.stop();
          throw new Error('Another process may be sending the alerts by now.');
        }
        return change(watching);
      }),
  });

  const wake = () => tenure?.wake();
  const following = state.follow(wake);

  return {
    start() {
      running ??= run();
    },
    /** Something is to be told; only who has the lease does anything. */
    wake,
    /** Sends at once what waits for closed channels of a platform that may be open again. */
    async retryClosed(platform: string, mayBeOpen: (channel: string) => boolean) {
      const isConcerned = (key: string) => {
        const place = parsePlace(key);
        return place?.platform === platform && mayBeOpen(place.channel);
      };
      // Most of what changes in channels is about none that is closed.
      if (!state.current()?.closed?.some(({ place }) => isConcerned(place))) return;
      await state.update(
        (watching) => watching && withReopened(watching, isConcerned, clock.nowMs()),
      );
      wake();
    },
    /** Ends what goes on, and gives the lease to whoever wants it. */
    async stop() {
      following.stop();
      stopping.abort();
      await running;
    },
  };
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
