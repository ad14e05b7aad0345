import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import { FairRoom } from '../../contracts/fair-room.ts';
import type { Channels } from '../channels/channels.ts';
import { reportedId, type WatchState } from '../incidents/watch-state.ts';
import { applyReported, type Delivery } from './apply-reported.ts';
import type { Intakes } from './intakes.ts';

/** Alerts that are applied in one update: a few dozen milliseconds of work. */
const BATCH_ALERTS = 250;

/** How often an alert may change again in one update: each time is one more round of work over all that are open. */
const BATCH_REPEATS = 8;

/** Alerts that wait to be applied, of all intakes, which share this. */
const MAX_WAITING = 40_000;

/** How places are told is asked for so often at most, while much comes in. */
const SETTINGS_EVERY_MS = 1_000;

/** Too much of its intake waits. */
export class OverloadError extends Error {
  override name = 'OverloadError' as const;
}

/** So many alerts of it were not stored, since too many are active; the others were. */
export class TooManyActiveError extends Error {
  override name = 'TooManyActiveError' as const;
  readonly count: number;

  constructor(count: number) {
    super(`No room for ${count} alerts: too many are active.`);
    this.count = count;
  }
}

/** Its intake was removed while it waited. */
export class RemovedIntakeError extends Error {
  override name = 'RemovedIntakeError' as const;
}

interface Waiting {
  delivery: Delivery;
  /** Alerts of it that are applied. */
  applied: number;
  leftOut: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Applies deliveries to what is watched, in small batches with everything else having its turn in between. Each intake has its
 * deliveries applied in order and as much of a batch as any other, so that one that sends much delays its own alone. `onChange`
 * is called with everything stored.
 */
export function createApplyQueue(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  channels: Pick<Channels, 'settings'>;
  intakes: Pick<Intakes, 'get'>;
  nowMs: () => number;
  onChange: () => void;
  log: Logger;
}) {
  const { state, channels, intakes, nowMs, onChange, log } = options;
  /** By intake; the one that comes next is first. */
  const queues = new Map<string, Waiting[]>();
  const room = new FairRoom(MAX_WAITING);
  let running: Promise<void> | undefined;
  let settings: { of: Awaited<ReturnType<Channels['settings']>>; atMs: number } | undefined;

  async function settingsNow() {
    const atMs = performance.now();
    if (!settings || atMs - settings.atMs >= SETTINGS_EVERY_MS) {
      settings = { of: await channels.settings(), atMs };
    }
    return settings.of;
  }

  async function run() {
    // What comes in the same breath is applied together.
    await Promise.resolve();
    while (queues.size > 0) {
      await applyBatch();
      await yieldToEventLoop();
    }
    running = undefined;
  }

  async function applyBatch() {
    const parts = nextParts([...queues.values()]);
    try {
      const known = await applyParts(parts);
      for (const { one, part } of parts) {
        one.applied += part.alerts.length;
        if (!known.has(one)) settle(one, new RemovedIntakeError());
        else if (one.applied >= one.delivery.alerts.length) {
          settle(one, one.leftOut > 0 ? new TooManyActiveError(one.leftOut) : undefined);
        }
      }
    } catch (error) {
      for (const { one } of parts) settle(one, error);
    }
    for (const { one } of parts) moveToEnd(one.delivery.intake.id);
  }

  /** Answers a delivery, which is the first of its intake. */
  function settle(one: Waiting, error?: unknown) {
    const { intake, alerts } = one.delivery;
    queues.get(intake.id)?.shift();
    room.giveBack(intake.id, alerts.length);
    if (error === undefined) one.resolve();
    else one.reject(error);
  }

  function moveToEnd(intake: string) {
    const queue = queues.get(intake);
    if (!queue) return;
    queues.delete(intake);
    if (queue.length > 0) queues.set(intake, queue);
  }

  /** Stores some parts of deliveries; resolves to those whose intake is still there. */
  async function applyParts(parts: readonly Part[]): Promise<Set<Waiting>> {
    const settingsOf = await settingsNow();
    const known = new Set<Waiting>();
    const before = state.current();
    let outcome: Pick<ReturnType<typeof applyReported>, 'dropped' | 'leftOut'> | undefined;
    await state.update((watching) => {
      known.clear();
      for (const { one } of parts) if (intakes.get(one.delivery.intake.id)) known.add(one);
      const applied = applyReported(
        watching,
        parts.filter(({ one }) => known.has(one)).map(({ part }) => part),
        { nowMs: nowMs(), newId: randomUUID, settingsOf },
      );
      outcome = applied;
      return applied.watching;
    });
    const { dropped = 0, leftOut } = outcome ?? {};
    if (dropped > 0)
      log.error({ dropped }, 'dropped the oldest undelivered alerts: too many are waiting');
    for (const { one, part } of parts) one.leftOut += leftOut?.get(part) ?? 0;
    if (state.current() !== before) onChange();
    return known;
  }

  return {
    /**
     * Applies a delivery; resolves once all of it is stored. Rejects with `OverloadError` when too much of its intake waits,
     * `TooManyActiveError` when some of it found no room, `RemovedIntakeError` when its intake is gone by then, or as the store does.
     */
    async apply(delivery: Delivery): Promise<void> {
      const { intake, alerts } = delivery;
      if (!room.take(intake.id, alerts.length)) throw new OverloadError();
      await new Promise<void>((resolve, reject) => {
        const queue = queues.get(intake.id) ?? [];
        queues.set(intake.id, queue);
        queue.push({ delivery, applied: 0, leftOut: 0, resolve, reject });
        running ??= run();
      });
    },
    /** Resolves when nothing waits any more. */
    idle: async () => await running,
  };
}

interface Part {
  one: Waiting;
  part: Delivery;
}

/** What one update takes from the fronts of the queues, each as much as any other. */
function nextParts(queues: ReadonlyArray<readonly Waiting[]>): Part[] {
  const served = queues.slice(0, BATCH_ALERTS);
  const round = new Set<string>();
  const left = { alerts: BATCH_ALERTS, repeats: BATCH_REPEATS };
  return served.flatMap((queue, index) => {
    const shareOf = (amount: number) => Math.ceil(amount / (served.length - index));
    const share = { alerts: shareOf(left.alerts), repeats: shareOf(left.repeats) };
    const before = { ...share };
    const parts = partsOf(queue, share, round);
    left.alerts -= before.alerts - share.alerts;
    left.repeats -= before.repeats - share.repeats;
    return parts;
  });
}

/** What a share of an update takes from the front of a queue; `round` holds the alerts that have changed since one changed again. */
function partsOf(
  queue: readonly Waiting[],
  share: { alerts: number; repeats: number },
  round: Set<string>,
): Part[] {
  const parts: Part[] = [];
  for (const one of queue) {
    const { intake, alerts, truncated } = one.delivery;
    const rest = alerts.slice(one.applied, one.applied + share.alerts);
    const full = rest.findIndex(({ key }) => {
      const id = reportedId(intake.id, key);
      if (round.has(id)) {
        if (share.repeats === 0) return true;
        share.repeats -= 1;
        round.clear();
      }
      round.add(id);
      return false;
    });
    const taken = full === -1 ? rest : rest.slice(0, full);
    share.alerts -= taken.length;
    const isWhole = one.applied + taken.length === alerts.length;
    if (isWhole || taken.length > 0)
      parts.push({ one, part: { intake, alerts: taken, truncated } });
    if (!isWhole) break;
  }
  return parts;
}
