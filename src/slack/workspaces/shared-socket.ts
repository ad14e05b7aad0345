import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { LeaseGroup, Store } from '../../bot/platform.ts';
import type { createSocket } from './socket.ts';

/** How connections are shared. */
export interface SocketSharing {
  slots: number;
  /** How long a connection outlives its slot, which is mostly found again: the store was away for everybody. */
  outlivesMs: number;
}

/** Slack takes ten connections of an app; two are left for those that end late. Source: Slack docs, "Using Socket Mode". */
const SHARING: SocketSharing = { slots: 8, outlivesMs: 10_000 };

/** How long a start waits for a slot, of which every process finds one while there are no more than slots. */
const SLOT_WITHIN_MS = 3_000;

/**
 * The connection of this process, as long as it has one of the slots that all processes share: Slack hands each event over any
 * one of them. Those without a slot hear nothing, and post all the same.
 */
export function createSharedSocket(options: {
  socket: ReturnType<typeof createSocket>;
  store: Pick<Store, 'leases' | 'check'>;
  /** Slack refuses the app token, after the start. */
  onRefused(error: Error): void;
  sharing?: SocketSharing | undefined;
  log: Logger;
}) {
  const { socket, store, onRefused, log } = options;
  const { slots, outlivesMs } = options.sharing ?? SHARING;
  const closing = new AbortController();
  const { signal } = closing;
  let group: LeaseGroup | undefined;
  /** While it is held, or waited for. */
  let opened: Promise<void> | undefined;
  let isStarting = true;
  let waitsForSlot = false;
  let isClosing = false;

  function take() {
    if (opened || isClosing || signal.aborted) return;
    const own = socket.open();
    opened = own;
    own.catch((error: unknown) => {
      if (opened !== own || isStarting || signal.aborted) return;
      onRefused(error instanceof Error ? error : new Error('refused'));
    });
  }

  /** Closes the connection unless a slot is found again soon. While the store is away nobody else can have them, either. */
  async function giveUp() {
    if (waitsForSlot) return;
    waitsForSlot = true;
    try {
      do await pause(outlivesMs, undefined, { signal, ref: false });
      while (!(await isReachable()));
      if (!group || group.count() > 0 || !opened) return;
      log.info(
        'other processes hold the connections to Slack; this one receives no events for now',
      );
      opened = undefined;
      isClosing = true;
      await socket.close().finally(() => {
        isClosing = false;
      });
      // One may have been found meanwhile.
      if (group.count() > 0) take();
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      waitsForSlot = false;
    }
  }

  const isReachable = () =>
    store.check().then(
      () => true,
      () => false,
    );

  return {
    /** Resolves once the connection is there, or there is no slot. Throws as the socket does. */
    async open() {
      let wake = () => {};
      const taken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      group = store.leases('slack-socket', slots, {
        taken() {
          take();
          wake();
        },
        giving() {},
        lost: () => void giveUp(),
      });
      const late = new AbortController();
      const wait = { signal: late.signal, ref: false };
      await Promise.race([taken, pause(SLOT_WITHIN_MS, undefined, wait).catch(() => {})]);
      late.abort();
      if (!opened)
        log.info('other processes hold the connections to Slack; this one waits for its turn');
      await opened;
      isStarting = false;
    },
    /** Gives the slot to others once the connection is closed. */
    async close() {
      closing.abort();
      await socket.close();
      await group?.close();
    },
  };
}
