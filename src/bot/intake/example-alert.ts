import type { Logger } from 'pino';
import { isFiring, type WatchState } from '../incidents/watch-state.ts';
import type { Clock } from '../shared/clock.ts';
import type { AlertIntake } from './intake.ts';
import type { Intake, Intakes } from './intakes.ts';
import type { ReportedAlert } from './reported-alert.ts';

/** The sender's own name of each example: an intake has one at a time. */
const KEY = 'askwatch-example';

/** How long an example goes on that nobody ends. */
export const EXAMPLE_MS = 60_000;

/** How often it is looked whether one has to end. */
const LOOK_EVERY_MS = 2_000;

/** An alert with which somebody sees how those of an intake are told; nobody is called for it. Pure. */
export function exampleAlert(
  { name }: Pick<Intake, 'name'>,
  state: 'firing' | 'resolved',
  nowMs: number,
): ReportedAlert {
  return {
    ...{ key: KEY, state, name: `Test alert for ${name}`, severity: 'warning' },
    summary: 'Nothing is wrong: someone is testing how alerts look',
    ...(state === 'firing' ? { startedAtMs: nowMs } : { endedAtMs: nowMs }),
    facts: [{ label: 'test', value: 'yes' }],
    links: [],
  };
}

/** Ends examples that have gone on for long enough, whichever process began them. One process at a time does it. */
export function createExampleEnder(options: {
  state: Pick<WatchState, 'current'>;
  intakes: Pick<Intakes, 'get'>;
  intake: Pick<AlertIntake, 'take'>;
  clock: Clock;
  log: Logger;
}) {
  const { state, intakes, intake, clock, log } = options;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        await endOld();
      } catch (error) {
        log.error({ err: error }, 'could not end a test alert; retrying');
      }
      await clock.pause(LOOK_EVERY_MS, stopping.signal);
    }
  }

  async function endOld() {
    const nowMs = clock.nowMs();
    for (const one of state.current()?.reported ?? []) {
      // One that began in the future was made before the clock was set back.
      const isOld = Math.abs(nowMs - one.startedAtMs) >= EXAMPLE_MS;
      const of = one.key === KEY && isFiring(one) && isOld ? intakes.get(one.intake) : undefined;
      if (!of) continue;
      const alerts = [exampleAlert(of, 'resolved', nowMs)];
      await intake.take(of, { alerts, truncated: 0 });
    }
  }

  return {
    start() {
      running ??= run();
    },
    /** Resolves when nothing goes on any more. */
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
