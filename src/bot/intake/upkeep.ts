import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Channels } from '../channels/channels.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import type { Clock } from '../shared/clock.ts';
import type { Intakes } from './intakes.ts';
import { withUpkeep } from './reported-upkeep.ts';

const EVERY_MS = 5_000;

/**
 * Sees, every few seconds, to what becomes of reported alerts while nobody says anything of them. `onChange` is called when there may
 * be something to tell, with everything stored.
 */
export function createUpkeep(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  intakes: Pick<Intakes, 'fresh'>;
  channels: Pick<Channels, 'settings'>;
  everyMs?: number;
  clock: Clock;
  onChange: () => void;
  log: Logger;
}) {
  const { state, intakes, channels, everyMs = EVERY_MS, clock, onChange, log } = options;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        await keepUp();
      } catch (error) {
        log.error({ err: error }, 'could not update alerts from other systems; retrying');
      }
      await clock.pause(everyMs, stopping.signal);
    }
  }

  async function keepUp() {
    const before = state.current();
    if (!before) return;
    // An intake is stored before anything comes in by it: all that is known of by now is told, too.
    const known = await intakes.fresh();
    const around = { newId: randomUUID, settingsOf: await channels.settings(), intakes: known };
    const seen = new Set(before.reported?.map(({ intake }) => intake));
    let isMore = true;
    while (isMore && !stopping.signal.aborted) {
      await state.update((watching) => {
        isMore = false;
        // Something came in by one that was made since: the next time knows it.
        const isNew = watching?.reported?.some(
          ({ intake }) => !known.has(intake) && !seen.has(intake),
        );
        if (!watching || isNew) return watching;
        const kept = withUpkeep(watching, { ...around, nowMs: clock.nowMs() });
        if (kept.dropped > 0)
          log.error(
            { dropped: kept.dropped },
            'dropped the oldest undelivered alerts: too many are waiting',
          );
        isMore = kept.isMore;
        return kept.watching;
      });
      await yieldToEventLoop();
    }
    if (state.current() !== before) onChange();
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
