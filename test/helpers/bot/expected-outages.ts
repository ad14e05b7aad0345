import type { Monitor } from '../../../src/contracts/monitoring.ts';

/** Monitors of the model. */
export const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
/** The second place receives alerts of every other monitor. */
export const heardBy = (platform: { name: string }) =>
  NAMES.filter((_, at) => platform.name === 'slack' || at % 2 === 0);
export const placesFor = ({ name }: { name: string }) =>
  heardBy({ name: 'discord' }).includes(name) ? ['slack:C1', 'discord:D1'] : ['slack:C1'];

/** A third outage within 15 minutes would count as flapping. */
const CALM_MS = 16 * 60_000;

/** The true state of a monitor. */
interface Truth {
  status: string;
  /** Outages that a poll has seen so far. */
  outages: number;
  isOpen: boolean;
  /** When it went down, each time. */
  downsMs: number[];
}

/** A book of all monitors; each is UP at first, and none flaps unless it may. */
export function createExpectedOutages({ mayFlap = false } = {}) {
  const book = new Map(
    NAMES.map((name): [string, Truth] => [
      name,
      { status: 'UP', outages: 0, isOpen: false, downsMs: [] },
    ]),
  );
  return {
    mayFlap,
    of: (name: string) => book.get(name) as Truth,
    /** Lets a monitor have a status, unless it would flap. */
    set(name: string, status: string, nowMs: number) {
      const truth = book.get(name) as Truth;
      const recent = truth.downsMs.filter((atMs) => nowMs - atMs < CALM_MS);
      if (status === truth.status || (!mayFlap && status === 'DOWN' && recent.length >= 2)) return;
      truth.status = status;
      if (status === 'DOWN') truth.downsMs.push(nowMs);
      if (status === 'DOWN' && !truth.isOpen) {
        truth.outages += 1;
        truth.isOpen = true;
      }
      if (status === 'UP') truth.isOpen = false;
    },
    monitors: () =>
      [...book].map(
        ([name, { status, outages }]): Monitor => ({
          ...{ id: name, name, check_type: 'HTTP', target: `https://${name}.example`, status },
          ...(status === 'DOWN' && { status_reason: `outage ${outages}` }),
          interval_seconds: 60,
        }),
      ),
  };
}

export type ExpectedOutages = ReturnType<typeof createExpectedOutages>;
