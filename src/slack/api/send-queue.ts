import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { readFailure } from './call-failure.ts';
import type { EditKind, EditPace } from './edit-pace.ts';

/** A call of the Web API that concerns a channel; Slack's limits count per method, that of posts also per channel. */
export interface ChannelCall<T> {
  method: string;
  channel: string;
  /** Of an edit or a removal: what for. Their limits are those of the workspace. */
  edit?: EditKind;
  /** Whether `patiently` makes it again when Slack failed: what was done twice would stand there twice. */
  repeatable?: boolean;
  run(): Promise<T>;
}

/** Sends to many channels, each at the pace Slack allows it, none held up by another. */
export type SendQueue = ReturnType<typeof createSendQueue>;

/** Slack takes this so much later that there is a better way. */
export class LimitedError extends Error {
  override name = 'LimitedError' as const;
}

const PATIENCE_MS = 5 * 60_000;
const REPEAT_AFTER_MS = [500, 1_000, 2_000];

export function createSendQueue(options: { paceMs: number; edits: EditPace; removals: EditPace }) {
  const { paceMs, edits, removals } = options;
  /** The last task of each channel with one under way. */
  const lines = new Map<string, Promise<unknown>>();
  /** Until when a method is limited for a channel, on the clock of `performance.now()`. */
  const limits = new Map<string, number>();
  /** The last of the patient calls that a limit holds up, by method and channel. */
  const heldUp = new Map<string, Promise<unknown>>();
  const closing = new AbortController();
  // As many wait as channels are limited.
  setMaxListeners(0, closing.signal);
  const paceOf = ({ method }: ChannelCall<unknown>) =>
    method === 'chat.delete' ? removals : edits;
  const keyOf = ({ method, channel }: ChannelCall<unknown>) => `${method} ${channel}`;
  const wait = (ms: number) => pause(ms, undefined, { signal: closing.signal });

  function limitedForMs(key: string): number {
    const leftMs = (limits.get(key) ?? 0) - performance.now();
    if (leftMs <= 0) limits.delete(key);
    return Math.max(0, leftMs);
  }

  /** Runs the call and remembers a limit it meets. */
  async function attempt<T>(call: ChannelCall<T>): Promise<T> {
    const { edit } = call;
    try {
      const done = await call.run();
      if (edit) paceOf(call).took();
      return done;
    } catch (error) {
      const { kind, retryAfterMs } = readFailure(error);
      if (kind === 'limited' && retryAfterMs !== undefined) {
        if (edit) paceOf(call).limited(retryAfterMs);
        else limits.set(keyOf(call), performance.now() + retryAfterMs);
      }
      throw error;
    }
  }

  /** Waits until the call is not limited. */
  async function waitFor(call: ChannelCall<unknown>): Promise<void> {
    const { edit } = call;
    if (edit === 'end' && paceOf(call).hasRunOut(edit)) {
      throw new LimitedError('Slack accepts no more edits for a while.');
    }
    if (edit) return await paceOf(call).turn(edit);
    const key = keyOf(call);
    // Again, since a timer may fire a little early and a limit be set again meanwhile.
    for (let leftMs = limitedForMs(key); leftMs > 0; leftMs = limitedForMs(key)) {
      await wait(Math.ceil(leftMs));
    }
  }

  /** Whether the channel is limited, or others wait that were held up before. Edits have a line of their own. */
  const isHeldUp = (call: ChannelCall<unknown>) =>
    call.edit === undefined && (heldUp.has(keyOf(call)) || limitedForMs(keyOf(call)) > 0);

  /**
   * Waits for those that were held up before: all together they would meet the next limit again and again. Gives what lets
   * the next one go.
   */
  async function joinLine(call: ChannelCall<unknown>): Promise<() => void> {
    const key = keyOf(call);
    const before = heldUp.get(key);
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    heldUp.set(key, left);
    await before;
    return () => {
      if (heldUp.get(key) === left) heldUp.delete(key);
      leave();
    };
  }

  return {
    /** One at a time per channel, in the order of the calls, at least `paceMs` between the starts of two. */
    async inOrder<T>(channel: string, send: () => Promise<T>) {
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

    /** Tries once. While the channel is limited it fails at once with a `DeliveryError` that says for how long. */
    async once<T>(call: ChannelCall<T>) {
      const { edit } = call;
      const leftMs = edit ? paceOf(call).take(edit) : limitedForMs(keyOf(call));
      if (leftMs) {
        throw new DeliveryError('Slack is rate limiting the bot.', {
          permanent: false,
          retryAfterMs: leftMs,
        });
      }
      return await attempt(call);
    },

    /** Tries once, now: an edit whose turn has come, or what can be shown in another way. */
    inTurn: attempt,

    /**
     * Tries until it is done, for people who wait: waits out limits, and repeats a `repeatable` call when Slack failed.
     * Gives up after five minutes of limits or three repeats, and throws the last error. The end of an answer gives up, with a
     * `LimitedError`, as soon as edits have run out. Where a channel is limited, its calls are tried one at a time.
     */
    async patiently<T>(call: ChannelCall<T>) {
      const repeats = call.repeatable ? [...REPEAT_AFTER_MS] : [];
      let giveUpAtMs: number | undefined;
      let leave: (() => void) | undefined;
      try {
        for (;;) {
          if (isHeldUp(call)) leave ??= await joinLine(call);
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
      } finally {
        leave?.();
      }
    },

    /** Ends all waiting. */
    close: () => closing.abort(),
  };
}
