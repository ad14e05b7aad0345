import { isFiring, type Reported } from '../incidents/watch-state.ts';
import type { Intake } from './intakes.ts';
import type { ReportedAlert } from './reported-alert.ts';

/** Each intake has one test alert at a time. */
const KEY = 'askwatch-example';

/** Test alerts end after this time if nobody ends them. */
export const EXAMPLE_MS = 60_000;

/** A test alert of an intake, without a mention. Pure. */
export function exampleAlert(
  { name }: Pick<Intake, 'name'>,
  state: 'firing' | 'resolved',
  nowMs: number,
): ReportedAlert {
  return {
    key: KEY,
    state,
    name: `Test alert for ${name}`,
    severity: 'warning',
    summary: 'Nothing is wrong: someone is testing how alerts look',
    ...(state === 'firing' ? { startedAtMs: nowMs } : { endedAtMs: nowMs }),
    facts: [{ label: 'test', value: 'yes' }],
    links: [],
  };
}

/** A start in the future is from before the clock was set back. */
export const isExpiredExample = (alert: Reported, nowMs: number) =>
  alert.key === KEY && isFiring(alert) && Math.abs(nowMs - alert.startedAtMs) >= EXAMPLE_MS;
