import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { readFailure } from './call-failure.ts';
import type { EditKind, EditPace } from './edit-pace.ts';

/** A call of the Web API for a channel. Slack limits each method, and posts per channel. */
export interface ChannelCall<T> {
  method: string;
  channel: string;
  /** The purpose of an edit or a removal, which Slack limits per workspace. */
  edit?: EditKind;
  /** True if `patiently` may repeat it after Slack failed, because doing it twice changes nothing. */
  repeatable?: boolean;
  run(): Promise<T>;
}

/** Slack accepts no edit for so long that a new message is faster. */
export class LimitedError extends Error {
  override name = 'LimitedError' as const;
}

const PATIENCE_MS = 5 * 60_000;
const REPEAT_AFTER_MS = [500, 1_000, 2_000];

/** Sends to many channels, each at the pace that Slack allows. A limited channel doesn't delay the others. */
export class SendQueue {
  private readonly paceMs: number;
  private readonly edits: EditPace;
  private readonly removals: EditPace;
  /** The last task of each channel with one under way. */
  private readonly tasks = new Map<string, Promise<unknown>>();
  /** Ends of limits by method and channel, on the clock of `performance.now()`. */
  private readonly limitsMs = new Map<string, number>();
  /** The last patient call that waits for a limit, by method and channel. */
  private readonly limitedCalls = new Map<string, Promise<unknown>>();
  private readonly closing = new AbortController();

  constructor(options: { paceMs: number; edits: EditPace; removals: EditPace }) {
    this.paceMs = options.paceMs;
    this.edits = options.edits;
    this.removals = options.removals;
    // Each limited channel listens.
    setMaxListeners(0, this.closing.signal);
  }

  /** Runs one task at a time per channel, in the order of the calls, at least `paceMs` between two starts. */
  async inOrder<T>(channel: string, send: () => Promise<T>): Promise<T> {
    const before = this.tasks.get(channel);
    const sent = (async () => {
      await before;
      return await send();
    })();
    // A failed task doesn't stop the ones behind it.
    const done = (async () => {
      await before;
      await Promise.allSettled([sent, this.wait(this.paceMs)]);
    })();
    this.tasks.set(channel, done);
    void done.then(() => {
      if (this.tasks.get(channel) === done) this.tasks.delete(channel);
    });
    return await sent;
  }

  /** Tries once. If the channel is limited, throws a `DeliveryError` with the time to wait. */
  async once<T>(call: ChannelCall<T>): Promise<T> {
    const leftMs = call.edit ? this.paceOf(call).take(call.edit) : this.limitedForMs(keyOf(call));
    if (leftMs) {
      throw new DeliveryError('Slack is rate limiting the bot.', {
        permanent: false,
        retryAfterMs: leftMs,
      });
    }
    return await this.tryNow(call);
  }

  /** Tries once, without waiting, and remembers a limit. For an edit the caller has waited for its turn. */
  async tryNow<T>(call: ChannelCall<T>): Promise<T> {
    const { edit } = call;
    try {
      const result = await call.run();
      if (edit) this.paceOf(call).took();
      return result;
    } catch (error) {
      const { kind, retryAfterMs } = readFailure(error);
      if (kind === 'limited' && retryAfterMs !== undefined) {
        if (edit) this.paceOf(call).limited(retryAfterMs);
        else this.limitsMs.set(keyOf(call), performance.now() + retryAfterMs);
      }
      throw error;
    }
  }

  /**
   * Tries until it is done, for people who wait: waits for limits to end, and repeats a `repeatable` call when Slack failed.
   * After five minutes of limits or three repeats it throws the last error. The end of an answer throws `LimitedError` as soon
   * as edits have run out.
   */
  async patiently<T>(call: ChannelCall<T>): Promise<T> {
    const repeats = call.repeatable ? [...REPEAT_AFTER_MS] : [];
    let giveUpAtMs: number | undefined;
    let leaveLine: (() => void) | undefined;
    try {
      for (;;) {
        if (this.isHeldUp(call)) leaveLine ??= await this.joinLine(keyOf(call));
        await this.waitForTurn(call);
        giveUpAtMs ??= performance.now() + PATIENCE_MS;
        try {
          return await this.tryNow(call);
        } catch (error) {
          const { kind, retryAfterMs = 0 } = readFailure(error);
          const repeatAfterMs = kind === 'unknown' ? repeats.shift() : undefined;
          const isSoon = kind === 'limited' && performance.now() + retryAfterMs < giveUpAtMs;
          if (this.closing.signal.aborted || (!isSoon && repeatAfterMs === undefined)) throw error;
          if (repeatAfterMs !== undefined) await this.wait(repeatAfterMs);
        }
      }
    } finally {
      leaveLine?.();
    }
  }

  close(): void {
    this.closing.abort();
  }

  private paceOf({ method }: ChannelCall<unknown>): EditPace {
    return method === 'chat.delete' ? this.removals : this.edits;
  }

  private wait(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: this.closing.signal });
  }

  private limitedForMs(key: string): number {
    const leftMs = (this.limitsMs.get(key) ?? 0) - performance.now();
    if (leftMs <= 0) this.limitsMs.delete(key);
    return Math.max(0, leftMs);
  }

  private async waitForTurn(call: ChannelCall<unknown>): Promise<void> {
    const { edit } = call;
    if (edit === 'end' && this.paceOf(call).hasRunOut(edit)) {
      throw new LimitedError('Slack accepts no more edits for a while.');
    }
    if (edit) return await this.paceOf(call).turn(edit);
    const key = keyOf(call);
    // In a loop, since a timer may fire early and the limit may grow in the meantime.
    for (let leftMs = this.limitedForMs(key); leftMs > 0; leftMs = this.limitedForMs(key)) {
      await this.wait(Math.ceil(leftMs));
    }
  }

  private isHeldUp(call: ChannelCall<unknown>): boolean {
    const key = keyOf(call);
    return call.edit === undefined && (this.limitedCalls.has(key) || this.limitedForMs(key) > 0);
  }

  /** Waits for earlier calls, since all together would meet the next limit. Returns the function that lets the next one go. */
  private async joinLine(key: string): Promise<() => void> {
    const before = this.limitedCalls.get(key);
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.limitedCalls.set(key, left);
    await before;
    return () => {
      if (this.limitedCalls.get(key) === left) this.limitedCalls.delete(key);
      leave();
    };
  }
}

const keyOf = ({ method, channel }: ChannelCall<unknown>) => `${method} ${channel}`;
