import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StoreUnavailableError } from '../../store/errors.ts';
import type { UnfinishedAnswers } from '../ask/unfinished-answers.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { DeliveryError } from '../shared/errors.ts';
import type { AnswerEnder, Invocation, Reply } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import type { LeftInvocation, SeenInvocations } from '../shared/seen-invocations.ts';
import type { Dispatching } from './dispatch.ts';

/** How often it is looked for what a process left that died. */
const LOOK_EVERY_MS = 500;

/** How long `stop` waits for what is gone on with. */
const STOP_MS = 1_000;

/** What processes do for others that share the store. */
export type Takeovers = ReturnType<typeof createTakeovers>;

/**
 * Goes on with what other processes were asked and did not finish, since they died: once, as if it had come here, and the
 * answer grows on in its message. Whatever is left a second time is ended with a note.
 */
export function createTakeovers(options: {
  seenInvocations: SeenInvocations;
  unfinished: Pick<UnfinishedAnswers, 'endLeft'>;
  dispatching: Pick<Dispatching, 'goOn' | 'forwarded'>;
  clock: Clock;
  random: () => number;
  log: Logger;
}) {
  const { seenInvocations, unfinished, dispatching, clock, random, log } = options;
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();
  let platforms: readonly AnswerEnder[] = [];
  let looking: Promise<void> | undefined;

  async function look() {
    while (!stopping.signal.aborted) {
      try {
        for (const left of await seenInvocations.left()) hold(goOn(left));
      } catch (error) {
        log.debug({ err: error }, 'could not look for work left by other processes; retrying');
      }
      await clock.pause(LOOK_EVERY_MS, stopping.signal);
    }
  }

  function hold(work: Promise<void>) {
    const held = work
      .catch((error: unknown) => {
        log.error({ err: error }, 'could not continue work left by another process');
      })
      .finally(() => underWay.delete(held));
    underWay.add(held);
  }

  const platformOf = ({ place }: Invocation) =>
    platforms.find(({ name }) => name === place.platform);

  async function goOn(left: LeftInvocation) {
    const { invocation, takeovers } = left;
    const place = placeKey(invocation.place);
    const platform = platformOf(invocation);
    log.info({ place, takeovers }, 'continuing work left by another process');
    const isAnswered = await untilDone(left, async () => {
      if (!platform || (await unfinished.endLeft(platform, left))) return false;
      let kind: Reply['kind'] | undefined;
      await platform.takeOver?.({
        invocation,
        async dispatch(given) {
          const reply = await dispatching.goOn(left, given);
          kind = reply.kind;
          return reply;
        },
      });
      return kind === 'answer';
    });
    // An answer is finished once its end is shown.
    if (!isAnswered) await untilDone(left, () => left.finish());
  }

  /** What comes of it; `undefined` when nothing does, or it is left to the next, since this process has it no more or stops. */
  async function untilDone<T>(left: LeftInvocation, task: () => Promise<T>) {
    const { invocation, held } = left;
    const place = placeKey(invocation.place);
    for (let failures = 1; held.isHeld() && !stopping.signal.aborted; failures += 1) {
      try {
        return await task();
      } catch (error) {
        const waitMs = againAfterMs(error);
        if (waitMs === undefined) {
          log.warn({ err: error, place }, 'gave up on work left by another process');
          return undefined;
        }
        log.warn(
          { err: error, place },
          'could not continue work left by another process; retrying',
        );
        await clock.pause(Math.max(waitMs, backoffMs(failures, random)), stopping.signal);
      }
    }
    return undefined;
  }

  return {
    /** From here on what others left is gone on with, through these platforms. */
    start(started: readonly AnswerEnder[]) {
      platforms = started;
      looking ??= look();
    },
    /** Does what another process that lives was asked and only this one can do. */
    take(invocation: Invocation) {
      const dispatch = (given: Invocation) => dispatching.forwarded(given);
      hold((async () => await platformOf(invocation)?.takeOver?.({ invocation, dispatch }))());
    },
    /** Takes up nothing more, and waits for a bounded time. */
    async stop() {
      stopping.abort();
      const all = Promise.all([looking, ...underWay]);
      await Promise.race([all, pause(STOP_MS, undefined, { ref: false })]);
    },
  };
}

/** The shortest time until something that failed may be done; `undefined` when it never may. */
function againAfterMs(error: unknown): number | undefined {
  if (error instanceof StoreUnavailableError) return 0;
  if (!(error instanceof DeliveryError) || error.permanent) return undefined;
  return error.retryAfterMs ?? 0;
}
