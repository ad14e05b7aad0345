import { setTimeout as pause } from 'node:timers/promises';
import { DeliveryError } from '../bot/errors.ts';
import { readFailure } from './call-failure.ts';
import type { EditKind, EditPace } from './edit-pace.ts';

/** A call of the Web API that concerns a channel; Slack's limits count per method, that of posts also per channel. */
export interface ChannelCall<T> {
  method: string;
  channel: string;
  /** Of an edit: what for. Its limits are those of the workspace. */
  edit?: EditKind;
  run(): Promise<T>;
}

/** Sends to many channels, each at the pace Slack allows it, none held up by another. */
export interface SendQueue {
  /** One at a time per channel, in the order of the calls, at least `paceMs` between the starts of two. */
  inOrder<T>(channel: string, send: () => Promise<T>): Promise<T>;
  /** Tries once. While the channel is limited it fails at once with a `DeliveryError` that says for how long. */
  once<T>(call: ChannelCall<T>): Promise<T>;
  /** Tries once, now: an edit whose turn has come. */
  inTurn<T>(call: ChannelCall<T>): Promise<T>;
  /**
   * Tries until it is done, for people who wait: waits out limits, and repeats a `repeatable` call when Slack failed.
   * Gives up after five minutes of limits or three repeats, and throws the last error.
   */
  patiently<T>(call: ChannelCall<T>, options: { repeatable: boolean }): Promise<T>;
  /** Ends all waiting. */
  close(): void;
}

const PATIENCE_MS = 5 * 60_000;
const REPEAT_AFTER_MS = [500, 1_000, 2_000];

export function createSendQueue({ paceMs, edits }: { paceMs: number; edits: EditPace }): SendQueue {
  /** The last task of each channel with one under way. */
  const lines = new Map<string, Promise<unknown>>();
  /** Until when a method is limited for a channel, on the clock of `performance.now()`. */
  const limits = new Map<string, number>();
  const closing = new AbortController();
  const wait = (ms: number) => pause(ms, undefined, { signal: closing.signal });

  function limitedForMs(key: string): number {
    const leftMs = (limits.get(key) ?? 0) - performance.now();
    if (leftMs <= 0) limits.delete(key);
    return Math.max(0, leftMs);
  }

  /** Runs the call and remembers a limit it meets. */
  async function attempt<T>({ method, channel, edit, run }: ChannelCall<T>): Promise<T> {
    try {
      const done = await run();
      if (edit) edits.took();
      return done;
    } catch (error) {
      const { kind, retryAfterMs } = readFailure(error);
      if (kind === 'limited' && retryAfterMs !== undefined) {
        if (edit) edits.limited(retryAfterMs);
        else limits.set(`${method} ${channel}`, performance.now() + retryAfterMs);
      }
      throw error;
    }
  }

  /** Waits until the call is not limited. */
  async function waitFor({ method, channel, edit }: ChannelCall<unknown>): Promise<void> {
    if (edit) return await edits.turn(edit);
    const key = `${method} ${channel}`;
    // Again, since a timer may fire a little early and a limit be set anew meanwhile.
    for (let leftMs = limitedForMs(key); leftMs > 0; leftMs = limitedForMs(key)) {
      await wait(Math.ceil(leftMs));
    }
  }

  return {
    async inOrder(channel, send) {
      const before = lines.get(channel);
      const sent = (async () => {
        await before;
        return await send();
      })();
      // The line goes on whatever became of this one, and not before its pace.
      const done = (async () => {
        await before;
        await Promise.allSettled([sent, wait(paceMs)]);
      })();
      lines.set(channel, done);
      void done.then(() => {
        if (lines.get(channel) === done) lines.delete(channel);
      });
      return await sent;
    },

    async once(call) {
      const { method, channel, edit } = call;
      const leftMs = edit ? edits.take(edit) : limitedForMs(`${method} ${channel}`);
      if (leftMs) {
        throw new DeliveryError('Slack asks the bot to slow down.', {
          permanent: false,
          retryAfterMs: leftMs,
        });
      }
      return await attempt(call);
    },

    inTurn: attempt,

    async patiently(call, { repeatable }) {
      const repeats = repeatable ? [...REPEAT_AFTER_MS] : [];
      let giveUpAtMs: number | undefined;
      for (;;) {
        await waitFor(call);
        giveUpAtMs ??= performance.now() + PATIENCE_MS;
        try {
          return await attempt(call);
        } catch (error) {
          const { kind, retryAfterMs = 0 } = readFailure(error);
          const repeatAfterMs = kind === 'unknown' ? repeats.shift() : undefined;
          const again = kind === 'limited' && performance.now() + retryAfterMs < giveUpAtMs;
          if (closing.signal.aborted || (!again && repeatAfterMs === undefined)) throw error;
          if (repeatAfterMs !== undefined) await wait(repeatAfterMs);
        }
      }
    },

    close: () => closing.abort(),
  };
}
