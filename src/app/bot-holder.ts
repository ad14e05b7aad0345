import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { OpenBot } from '../bot/platform.ts';
import { orAborted } from '../contracts/or-aborted.ts';
import type { BotAddress } from '../http/forwarding.ts';
import { LeaseLostError, StoreUnavailableError } from '../store/errors.ts';
import type { Collection, CollectionDeclaration, Lease, Store } from '../store/store.ts';
import type { MadePlatform } from './platform-supervisor.ts';
import { Tenure, type TenureParts } from './tenure.ts';

/** The lease under which one process at a time has the bot. */
export const BOT_LEASE = 'bot';

/** Interval at which a process that stands by asks for the lease. */
const AGAIN_MS = 500;

/** Interval at which the successor asks for the lease in a hand-over; shorter, as requests wait meanwhile. */
const SUCCEED_EVERY_MS = 50;

/** Time limits for a successor to accept the holder's offer, and then to connect. */
const OFFER_MS = 800;
const CONNECT_MS = 4_000;

/** Time limit for a hand-over from the offer on. After it any process may take the lease. */
const HAND_OVER_MS = 15_000;

/** Time limit for the holder to end once a successor waits. Slack waits 3 s for an answer, a forwarded request 2.5 s. */
const LEAVE_MS = 700;

/** Time for which the holder still takes requests, from processes that do not know of the hand-over yet. */
const SETTLE_MS = 150;

/** The process that has the bot, as the others read it to forward requests and to succeed it. */
const Holder = z.object({
  /** The lease's fence, so that a former holder that wakes does not overwrite a later one. */
  fence: z.int(),
  /** Address of the holder; absent while nobody serves. */
  url: z.string().optional(),
  /** Present once the holder stops and waits for a successor; `next` is the one that accepted. */
  offer: z
    .object({ next: z.object({ id: z.string(), isConnected: z.boolean() }).optional() })
    .optional(),
});
type Holder = z.infer<typeof Holder>;

/** One document, `BOT_LEASE`. */
export const botHolders: CollectionDeclaration<Holder> = {
  name: 'bot-holder',
  schema: Holder,
  version: 1,
  whenCorrupt: 'forget',
};

/**
 * Runs the bot while this process holds the lease `bot`, and competes for that lease while it doesn't. Roles of a process:
 *
 * - standing by → holder: the lease is free (nobody renewed it for its time to live) and no successor is promised it.
 * - holder → standing by: the lease is lost, as after a standstill. The bot ends and stores nothing more.
 * - holder → stopped: SIGTERM. The holder publishes an offer, waits until a successor is connected, serves no longer, ends the
 *   bot and releases the lease.
 * - standing by → successor: this process accepted the offer. It connects its platforms, keeps events waiting, and becomes the
 *   holder once the lease is free; if that fails it stands by again.
 */
export class BotHolder {
  private readonly parts: TenureParts;
  private readonly store: Store;
  private readonly log: Logger;
  private readonly ownUrl: () => string;
  private readonly onFatal: (error: unknown) => void;
  private readonly id = randomUUID();
  private readonly stopping = new AbortController();
  private readonly news = new EventEmitter().setMaxListeners(0);
  private readonly collection: Collection<Holder> | undefined;
  private known: Holder | undefined;
  /** Time at which the offer in `known` was first seen, on the clock of `performance`. */
  private offerSeenMs = Number.NEGATIVE_INFINITY;
  private tenure: Tenure | undefined;
  private isServing = false;
  private competing: Promise<void> | undefined;
  private following: { stop(): void } | undefined;

  constructor(
    parts: TenureParts,
    options: {
      store: Store;
      /** Returns the address at which other processes reach this one; called once it listens. */
      ownUrl: () => string;
      /** Called with an error that keeps the bot from ever running here. */
      onFatal: (error: unknown) => void;
      log: Logger;
    },
  ) {
    this.parts = parts;
    this.store = options.store;
    this.ownUrl = options.ownUrl;
    this.onFatal = options.onFatal;
    this.log = options.log;
    this.collection = this.store.isShared ? this.store.collection(botHolders) : undefined;
  }

  /** The bot, while this process has it. */
  get bot(): OpenBot | undefined {
    return this.isServing ? this.tenure?.bot : undefined;
  }

  /** The platforms that run here. */
  get platforms(): readonly MadePlatform[] {
    return this.tenure?.platforms ?? [];
  }

  /** The process that takes requests for the bot now. */
  where(): BotAddress {
    if (this.isServing) return 'here';
    const url = this.known?.url;
    return url === undefined || url === this.ownUrl() ? undefined : { url };
  }

  /** Resolves when `where` may have changed. Rejects when the signal aborts. */
  async changed(signal: AbortSignal): Promise<void> {
    await once(this.news, 'changed', { signal });
  }

  /** Follows who has the bot, without competing for it. */
  async follow(): Promise<void> {
    this.following = await this.collection?.follow((changed) => {
      for (const { document } of changed) {
        const isNew = document?.offer && this.known?.offer === undefined;
        if (isNew) this.offerSeenMs = performance.now();
        this.known = document;
      }
      this.news.emit('changed');
    });
  }

  /** Resolves once the bot runs here, or another process has it. Rejects with what keeps it from running here. */
  async start(): Promise<void> {
    await this.follow();
    const lease = await this.store.lease(BOT_LEASE);
    if (!lease) {
      this.log.info('another process has the bot; standing by');
      this.competing = this.standBy();
      return;
    }
    const tenure = this.prepare();
    const begun = this.begin(tenure, lease);
    this.competing = begun.then(
      async (isBegun) => {
        if (isBegun) await this.hold(tenure);
        await this.compete();
      },
      () => {},
    );
    await begun;
  }

  /** Hands the bot over if this process has it, and competes no more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.news.emit('changed');
    await this.competing;
    this.following?.stop();
  }

  private prepare(): Tenure {
    return new Tenure(this.parts, { store: this.store, log: this.log });
  }

  private async standBy(): Promise<void> {
    try {
      await this.parts.load();
    } catch (error) {
      this.log.debug(
        { err: error },
        'could not load what the bot needs; that is tried again with the bot',
      );
    }
    await this.compete();
  }

  private async compete(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        if (await this.offerToSucceed()) await this.succeed();
        else if (!this.isPromised()) {
          const lease = await this.store.lease(BOT_LEASE);
          if (lease) await this.takeOver(this.prepare(), lease);
        }
      } catch (error) {
        this.log.debug({ err: error }, 'could not take the bot; retrying');
      }
      await this.changeWithin(AGAIN_MS);
    }
  }

  /** True while a successor is about to take the lease. */
  private isPromised(): boolean {
    const isRecent = performance.now() - this.offerSeenMs < HAND_OVER_MS;
    return this.known?.offer?.next !== undefined && isRecent;
  }

  private async takeOver(tenure: Tenure, lease: Lease): Promise<void> {
    try {
      if (!(await this.begin(tenure, lease))) return;
    } catch (error) {
      return this.onFatal(error);
    }
    await this.hold(tenure);
  }

  /** False if the bot could not begin for a reason that passes. Rejects with what keeps it from ever running here. */
  private async begin(tenure: Tenure, lease: Lease): Promise<boolean> {
    const { signal } = this.stopping;
    this.tenure = tenure;
    try {
      // A platform may take as long as it likes to connect.
      await orAborted(tenure.begin(lease), AbortSignal.any([signal, lease.signal]));
      this.isServing = true;
      const holder = { fence: lease.fence, url: this.ownUrl() };
      await this.change((known) => (known && known.fence > lease.fence ? known : holder));
    } catch (error) {
      const isPassing = error instanceof LeaseLostError || error instanceof StoreUnavailableError;
      const isFatal = !isPassing && !signal.aborted && lease.isHeld();
      await this.endBegun(tenure);
      await this.withdraw();
      if (isFatal) throw error;
      this.log.warn({ err: error }, 'could not start the bot here; standing by');
      return false;
    }
    this.news.emit('changed');
    if (this.store.isShared) this.log.info('this process now has the bot');
    return true;
  }

  /** Until the lease is lost or the program stops. */
  private async hold(tenure: Tenure): Promise<void> {
    try {
      const ended = AbortSignal.any([tenure.lease.signal, this.stopping.signal]);
      if (!ended.aborted) await once(ended, 'abort');
      if (!tenure.lease.isHeld()) {
        this.log.warn('this process lost the bot: it did not renew its lease in time');
      } else if (this.collection) await this.handOver(tenure);
    } catch (error) {
      this.log.warn({ err: error }, 'could not hand the bot over; another process takes it soon');
    }
    await this.end(tenure, this.known?.offer?.next ? { leaseMs: LEAVE_MS } : {});
  }

  private async end(tenure: Tenure, within: { leaseMs?: number } = {}): Promise<void> {
    this.isServing = false;
    await tenure.end(within);
    if (this.tenure === tenure) this.tenure = undefined;
    this.news.emit('changed');
  }

  /** Ends a tenure that was only beginning, soon if the program stops. The next holder ends the answers that it accepted. */
  private async endBegun(tenure: Tenure): Promise<void> {
    await this.end(tenure, this.stopping.signal.aborted ? { leaseMs: LEAVE_MS } : {});
  }

  /** Lets a successor connect, and then takes nothing new. */
  private async handOver(tenure: Tenure): Promise<void> {
    const { fence } = tenure.lease;
    const ifOwn = (change: (known: Holder) => Holder) =>
      this.change((known) => (known?.fence === fence ? change(known) : known));
    await ifOwn((known) => ({ ...known, offer: {} }));
    const next = () => this.known?.offer?.next;
    await this.until(() => next() !== undefined, OFFER_MS);
    if (next()) await this.until(() => next()?.isConnected === true, CONNECT_MS);
    this.log.debug({ next: next() }, 'handing the bot over');
    // From here on requests wait for the successor.
    await ifOwn(({ url: _, ...known }) => known);
    await Promise.all([tenure.pause(), pause(SETTLE_MS)]);
  }

  /** Accepts the offer of a holder that stops. Resolves to true if no other process was faster. */
  private async offerToSucceed(): Promise<boolean> {
    if (!this.known?.offer || this.known.offer.next) return false;
    const next = { id: this.id, isConnected: false };
    const known = await this.change((now) =>
      now?.offer && !now.offer.next ? { ...now, offer: { next } } : now,
    );
    return known?.offer?.next?.id === this.id;
  }

  private async succeed(): Promise<void> {
    const tenure = this.prepare();
    try {
      // A platform may take longer to connect than this process has left to stop.
      await orAborted(tenure.connect(), this.stopping.signal);
      await this.change((known) =>
        known?.offer?.next?.id === this.id
          ? { ...known, offer: { next: { id: this.id, isConnected: true } } }
          : known,
      );
      const lease = await this.leaseSoon();
      if (lease) return await this.takeOver(tenure, lease);
    } catch (error) {
      this.log.warn({ err: error }, 'could not succeed the process that had the bot');
    }
    await this.endBegun(tenure);
    await this.withdraw();
  }

  /** Lets anyone take the bot that was promised to this process. */
  private async withdraw(): Promise<void> {
    try {
      await this.change((known) => {
        if (known?.offer?.next?.id !== this.id) return known;
        const { offer: _, ...without } = known;
        return without;
      });
    } catch (error) {
      this.log.debug({ err: error }, 'could not say that the bot is not taken; that lapses soon');
    }
  }

  private async leaseSoon(): Promise<Lease | undefined> {
    while (this.isPromised() && !this.stopping.signal.aborted) {
      const lease = await this.store.lease(BOT_LEASE);
      if (lease) return lease;
      await pause(SUCCEED_EVERY_MS);
    }
    return undefined;
  }

  private async change(
    make: (known: Holder | undefined) => Holder | undefined,
  ): Promise<Holder | undefined> {
    if (!this.collection) return undefined;
    this.known = await this.collection.update(BOT_LEASE, make);
    return this.known;
  }

  private async until(isSo: () => boolean, withinMs: number): Promise<void> {
    const deadlineMs = performance.now() + withinMs;
    while (!isSo() && performance.now() < deadlineMs) {
      await this.changeWithin(Math.max(1, deadlineMs - performance.now()));
    }
  }

  private async changeWithin(ms: number): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), ms);
    await this.changed(late.signal).catch(() => {});
    clearTimeout(timer);
  }
}
