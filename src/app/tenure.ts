import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Bot, OpenBot } from '../bot/platform.ts';
import type { Lease, Store } from '../store/store.ts';
import { comingBot } from './coming-bot.ts';
import { ComingLease } from './coming-lease.ts';
import type { MadePlatform } from './platform-supervisor.ts';

/** Time limit for the bot to end, and then for its platforms. After it they are abandoned. */
const END_LIMIT_MS = 5_000;

/** Time limit for parts that are still ending when the lease is released. */
const OVER_MS = 1_500;

/** Platforms that connect to other systems, perhaps while another process still holds the bot. */
export interface ConnectingPlatforms {
  platforms: MadePlatform[];
  /** Reads again from the store, as the former holder may have written there while these platforms connected. */
  refresh(): Promise<unknown>;
}

/** Creates the parts of the bot, again for each lease. */
export interface TenureParts {
  readonly known: Pick<Bot, 'commands' | 'forms'>;
  createBot(of: { store: Store; lease: Lease }): Promise<OpenBot>;
  /** Loads what is needed for the rest, so that a process that stands by is quick to take over. */
  load(): Promise<unknown>;
  /** The platforms that connect to somewhere else. */
  createPlatforms(of: { store: Store; isHeld(): boolean }): Promise<ConnectingPlatforms>;
  /** The platform that is served here. It reads what is stored, so it is made once nobody else changes that. */
  createConsole(of: { store: Store; isHeld(): boolean }): Promise<MadePlatform | undefined>;
}

/**
 * The bot and its platforms under one lease; another lease gets another tenure. Platforms may connect before the lease is
 * taken (`connect`); their events wait until then.
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
  private refreshStarted: () => Promise<unknown> = async () => {};
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
      const { platforms, refresh } = await parts.createPlatforms(this.program());
      this.assertNotEnded();
      this.started = platforms;
      this.refreshStarted = refresh;
      const bot = comingBot(this.coming, {
        ...parts.known,
        interrupt: (platform) => this.opened?.interrupt(platform) ?? (() => {}),
      });
      await Promise.all(platforms.map((platform) => platform.start(bot)));
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
    this.assertNotEnded();
    this.opened = bot;
    await this.refreshStarted();
    const own = await parts.createConsole(this.program());
    this.assertNotEnded();
    this.own = own;
    await own?.start(bot);
    // Only now: what waited may ask for any of it.
    this.come(bot);
    await connected;
    this.assertNotEnded();
    await bot.start(this.platforms);
  }

  /** Has platforms take no new events; answers under way continue. */
  async pause(): Promise<void> {
    await this.allWithin(this.platforms.map((platform) => platform.pause?.()));
  }

  /**
   * Ends all parts within a bounded time, and releases the lease after `leaseMs` at the latest. A part that has not ended by
   * then shows and stores nothing more. Never rejects.
   */
  async end({ leaseMs }: { leaseMs?: number } = {}): Promise<void> {
    this.isOver = true;
    const ended = this.endParts();
    const late = leaseMs === undefined ? [] : [pause(leaseMs, undefined, { ref: false })];
    await Promise.race([ended, ...late]);
    await this.allWithin([this.lease.release()]);
    // Without the lease no part can show or store anything.
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

  /** Parts that are created while the tenure ends must not start: nothing would stop them. */
  private assertNotEnded(): void {
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
