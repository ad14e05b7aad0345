import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Channels } from '../channels/channels.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import type { Clock } from '../shared/clock.ts';
import { exampleAlert, isExpiredExample } from './example-alert.ts';
import type { AlertIntake } from './intake.ts';
import type { Intakes } from './intakes.ts';
import { withUpkeep } from './reported-upkeep.ts';

const UPKEEP_EVERY_MS = 5_000;

interface UpkeepOptions {
  state: Pick<WatchState, 'current' | 'update'>;
  intakes: Pick<Intakes, 'get' | 'fresh'>;
  intake: Pick<AlertIntake, 'take'>;
  channels: Pick<Channels, 'settings'>;
  clock: Clock;
  /** Called after a change is stored. */
  onChange: () => void;
  log: Logger;
}

/** Every few seconds, handles reported alerts whose sender is silent, and ends old test alerts. */
export function createUpkeep(options: UpkeepOptions) {
  const { clock, log } = options;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        await updateReported(options, stopping.signal);
        await endExamples(options);
      } catch (error) {
        log.error({ err: error }, 'could not update alerts from other systems; retrying');
      }
      await clock.pause(UPKEEP_EVERY_MS, stopping.signal);
    }
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

async function updateReported(options: UpkeepOptions, signal: AbortSignal) {
  const { state, intakes, channels, clock, onChange, log } = options;
  const before = state.current();
  if (!before) return;
  const all = await intakes.fresh();
  const around = { newId: randomUUID, settingsOf: await channels.settings(), intakes: all };
  const seen = new Set(before.reported?.map(({ intake }) => intake));
  let isMore = true;
  while (isMore && !signal.aborted) {
    await state.update((watching) => {
      isMore = false;
      // An alert of an intake that was added since is left to the next time.
      const isNew = watching?.reported?.some(({ intake }) => !all.has(intake) && !seen.has(intake));
      if (!watching || isNew) return watching;
      const after = withUpkeep(watching, { ...around, nowMs: clock.nowMs() });
      const { dropped } = after;
      if (dropped > 0) {
        log.error({ dropped }, 'dropped the oldest undelivered alerts: too many are waiting');
      }
      isMore = after.isMore;
      return after.watching;
    });
    await yieldToEventLoop();
  }
  if (state.current() !== before) onChange();
}

async function endExamples({ state, intakes, intake, clock }: UpkeepOptions) {
  const nowMs = clock.nowMs();
  for (const alert of state.current()?.reported ?? []) {
    const owner = isExpiredExample(alert, nowMs) ? intakes.get(alert.intake) : undefined;
    if (!owner) continue;
    await intake.take(owner, { alerts: [exampleAlert(owner, 'resolved', nowMs)], truncated: 0 });
  }
}
