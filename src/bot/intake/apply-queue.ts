import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Channels } from '../channels/channels.ts';
import { reportedId, type WatchState } from '../incidents/watch-state.ts';
import { applyReported, type Delivery } from './apply-reported.ts';
import type { Intakes } from './intakes.ts';

/** Alerts that are applied in one update: what they come to is a few dozen milliseconds of work. */
const BATCH_SIZE = 250;

/** So often one alert may change in an update. */
const BATCH_CHANGES = 8;

/** What waits to be applied at most; one delivery may be more than that by itself. */
const MAX_WAITING = { deliveries: 5_000, alerts: 20_000 } as const;

/** How places are told is asked for so often at most, while much comes in. */
const SETTINGS_EVERY_MS = 1_000;

/** There is no room for it now. */
export class OverloadError extends Error {
  override name = 'OverloadError' as const;
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
  resolve(applied: { leftOut: number }): void;
  reject(error: unknown): void;
}

/**
 * Applies deliveries to what is watched, in the order in which they come: all that wait at once in one update, in batches of
 * few alerts, with everything else having its turn in between. `onChange` is called with everything stored.
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
  let waiting: Waiting[] = [];
  let alertsWaiting = 0;
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
    while (waiting.length > 0) {
      await applyBatch();
      await yieldToEventLoop();
    }
    running = undefined;
  }

  async function applyBatch() {
    const parts = nextParts(waiting);
    try {
      const known = await applyParts(parts);
      for (const { one, part } of parts) {
        if (!known.has(one)) one.reject(new RemovedIntakeError());
        one.applied += part.alerts.length;
        if (one.applied >= one.delivery.alerts.length) one.resolve(one);
      }
      leave((one) => !known.has(one) || one.applied >= one.delivery.alerts.length, parts);
    } catch (error) {
      for (const { one } of parts) one.reject(error);
      leave(() => true, parts);
    }
  }

  /** Stores some parts of deliveries; resolves to those whose intake is still there. */
  async function applyParts(parts: readonly Part[]): Promise<Set<Waiting>> {
    const settingsOf = await settingsNow();
    const known = new Set<Waiting>();
    const before = state.current();
    let outcome = { dropped: 0, leftOut: 0 };
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
    const { dropped, leftOut } = outcome;
    if (dropped > 0)
      log.error({ dropped }, 'the oldest undelivered alerts were dropped: too many wait');
    if (leftOut > 0) {
      log.error({ leftOut }, 'alerts that other systems reported were left out: too many go on');
      // Of which delivery does not matter: each is told that something of it may be missing.
      for (const { one } of parts) one.leftOut += leftOut;
    }
    if (state.current() !== before) onChange();
    return known;
  }

  /** Takes those that are done from the front; the last may have more to come. */
  function leave(isDone: (one: Waiting) => boolean, parts: readonly Part[]) {
    const done = new Set(parts.map(({ one }) => one).filter(isDone));
    waiting = waiting.filter((one) => !done.has(one));
    for (const { delivery } of done) alertsWaiting -= delivery.alerts.length;
  }

  return {
    /**
     * Applies a delivery; resolves once it is stored, with how many alerts found no room. Rejects with `OverloadError` when too
     * much waits, `RemovedIntakeError` when its intake is gone by then, or with what the store says.
     */
    async apply(delivery: Delivery): Promise<{ leftOut: number }> {
      const { deliveries, alerts } = MAX_WAITING;
      const isFull =
        waiting.length >= deliveries ||
        (waiting.length > 0 && alertsWaiting + delivery.alerts.length > alerts);
      if (isFull) throw new OverloadError();
      alertsWaiting += delivery.alerts.length;
      return await new Promise((resolve, reject) => {
        waiting.push({ delivery, applied: 0, leftOut: 0, resolve, reject });
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

/** As many alerts from the front as one update takes. Pure. */
function nextParts(waiting: readonly Waiting[]): Part[] {
  const parts: Part[] = [];
  const changes = new Map<string, number>();
  let room = BATCH_SIZE;
  for (const one of waiting) {
    const { intake, alerts, truncated } = one.delivery;
    const rest = alerts.slice(one.applied, one.applied + room);
    const full = rest.findIndex(({ key }) => {
      const id = reportedId(intake.id, key);
      const count = (changes.get(id) ?? 0) + 1;
      changes.set(id, count);
      return count > BATCH_CHANGES;
    });
    const taken = full === -1 ? rest : rest.slice(0, full);
    parts.push({ one, part: { intake, alerts: taken, truncated } });
    room -= taken.length;
    if (full !== -1 || room <= 0 || one.applied + taken.length < alerts.length) break;
  }
  return parts;
}
