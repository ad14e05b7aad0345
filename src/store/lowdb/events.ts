import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { EventFollower, EventLog, NumberedEvent } from '../store.ts';

/** Events that are kept until somebody follows. */
const MAX_KEPT = 2_000;

const AGAIN_AFTER_MS = 1_000;

/** A log in memory, since nobody else can append or follow; numbers begin anew with each start. */
export function createLowdbEvents<T>(
  name: string,
  { assertOpen, log }: { assertOpen: () => void; log: Logger },
): EventLog<T> {
  const id = randomUUID();
  let lastNumber = 0;
  let toTell: NumberedEvent<T>[] = [];
  let follower: EventFollower<T> | undefined;
  /** Until the follower is done with what it was told, or it is told again. */
  let telling: Promise<void> | undefined;

  /** Tells at once, unless the follower is not done with what came before. */
  function tell() {
    while (follower && !telling && toTell.length > 0) {
      const events = toTell;
      toTell = [];
      const done = follower.told(events);
      if (!done) continue;
      telling = done
        .catch(async (error: unknown) => {
          log.warn({ err: error, log: name }, 'could not publish events; retrying');
          toTell = [...events, ...toTell];
          await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS).unref());
        })
        .then(() => {
          telling = undefined;
          tell();
        });
    }
  }

  return {
    append(event, isStill = () => true) {
      assertOpen();
      if (!isStill()) return Promise.resolve();
      lastNumber += 1;
      toTell.push({ number: lastNumber, isOwn: true, event });
      if (!follower && toTell.length > MAX_KEPT) toTell.shift();
      tell();
      return Promise.resolve();
    },
    async follow(given) {
      assertOpen();
      if (follower) throw new Error(`The events '${name}' are followed already.`);
      follower = given;
      tell();
      await telling;
      return {
        id,
        lastNumber,
        stop() {
          follower = undefined;
        },
      };
    },
  };
}
