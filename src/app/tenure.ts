import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Bot, OpenBot } from '../bot/platform.ts';
import type { Lease, Store } from '../store/store.ts';
import { comingBot } from './coming-bot.ts';
import { ComingLease } from './coming-lease.ts';
import type { MadePlatform } from './platform-supervisor.ts';

/** How long the bot, and then its platforms, may take to end before what is left of them is abandoned. */
const END_LIMIT_MS = 5_000;

/** How long what goes on after the lease was given up is waited for. */
const OVER_MS = 1_500;

/** What the bot is made of, each time anew. */
export interface TenureParts {
  readonly known: Pick<Bot, 'commands' | 'forms'>;
  createBot(of: { store: Store; lease: Lease }): Promise<OpenBot>;
  /** Loads what is needed for the rest, so that a process that stands by is quick to take over. */
  load(): Promise<unknown>;
  /** The platforms that connect to somewhere else. */
  createPlatforms(of: { store: Store; isHeld(): boolean }): Promise<MadePlatform[]>;
  /** Reads again what the former holder may have stored while these platforms connected. */
  refresh(platforms: readonly MadePlatform[]): Promise<unknown>;
  /** The platform that is served here. It reads what is stored, so it is made once nobody else changes that. */
  createConsole(of: { store: Store; isHeld(): boolean }): Promise<MadePlatform | undefined>;
}

/**
 * The bot and its platforms for as long as this process holds the lease: made for one lease, and never used after it.
 * Platforms may connect before the lease is there (`connect`); then what they hear waits.
 */
export class Tenure {
  readonly lease = new ComingLease();
  private readonly parts: TenureParts;
  private readonly store: Store;
  private readonly log: Logger;
  private readonly coming: Promise<OpenBot>;
  private come = (_bot: OpenBot) => {};
  private opened: OpenBot | undefined;
  private started: MadePlatform[] = [];
  private own: MadePlatform | undefined;
  private isOver = false;
  private connecting: Promise<void> | undefined;

  constructor(parts: TenureParts, { store, log }: { store: Store; log: Logger }) {
    this.parts = parts;
    this.log = log;
    this.store = store.under(this.lease);
    this.coming = new Promise((resolve) => {
      this.come = resolve;
    });
  }

  /** The bot, once it is there. */
  get bot(): OpenBot | undefined {
    return this.opened;
  }

  /** The platforms that were started. */
  get platforms(): readonly MadePlatform[] {
    return this.own ? [...this.started, this.own] : this.started;
  }

  /** Connects the platforms. Rejects with `PlatformStartError` if one refuses for good. */
  connect(): Promise<void> {
    this.connecting ??= (async () => {
      const { parts } = this;
      const made = await parts.createPlatforms(this.program());
      this.assertGoesOn();
      this.started = made;
      const bot = comingBot(this.coming, {
        ...parts.known,
        interrupt: (platform) => this.opened?.interrupt(platform) ?? (() => {}),
      });
      await Promise.all(made.map((platform) => platform.start(bot)));
    })();
    return this.connecting;
  }

  /** Has the bot speak, under a lease that was just taken. Rejects with what keeps it from that. */
  async begin(lease: Lease): Promise<void> {
    this.lease.take(lease);
    const { store, parts } = this;
    const connected = this.connect();
    connected.catch(() => {});
    const bot = await parts.createBot({ store, lease: this.lease });
    this.assertGoesOn();
    this.opened = bot;
    await parts.refresh(this.started);
    const own = await parts.createConsole(this.program());
    this.assertGoesOn();
    this.own = own;
    await own?.start(bot);
    // Only now: what waited may ask for any of it.
    this.come(bot);
    await connected;
    this.assertGoesOn();
    await bot.start(this.platforms);
  }

  /** Takes nothing new from platforms any more; what is under way goes on. */
  async pause(): Promise<void> {
    await this.allWithin(this.platforms.map((platform) => platform.pause?.()));
  }

  /**
   * Ends all of it, within a bounded time, and gives the lease to whoever wants it, after `leaseMs` at the latest. What has not
   * ended by then shows and stores nothing more. Never rejects.
   */
  async end({ leaseMs }: { leaseMs?: number } = {}): Promise<void> {
    this.isOver = true;
    const ended = this.endParts();
    const late = leaseMs === undefined ? [] : [pause(leaseMs, undefined, { ref: false })];
    await Promise.race([ended, ...late]);
    await this.allWithin([this.lease.release()]);
    // Nothing of it can be shown or stored any more.
    const over = leaseMs === undefined ? [] : [pause(OVER_MS, undefined, { ref: false })];
    await Promise.race([ended, ...over]);
  }

  private async endParts() {
    await this.allWithin([this.opened?.stop()]);
    await this.allWithin(this.platforms.map((platform) => platform.stop()));
    this.opened = undefined;
  }

  private program() {
    return { store: this.store, isHeld: () => this.lease.isHeld() };
  }

  /** What is made while it ends is not started: nothing would stop it any more. */
  private assertGoesOn(): void {
    if (this.isOver) throw new Error('The bot was ended before it ran.');
  }

  private async allWithin(parts: ReadonlyArray<Promise<unknown> | undefined>): Promise<void> {
    const late = pause(END_LIMIT_MS, 'late' as const, { ref: false });
    const ended = await Promise.race([Promise.allSettled(parts), late]);
    if (ended === 'late') this.log.warn('a part of the bot did not stop in time; abandoning it');
    else
      for (const one of ended) {
        if (one.status === 'fulfilled') continue;
        this.log.error({ err: one.reason }, 'a part of the bot did not stop cleanly');
      }
  }
}
