import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import { FairRoom } from '../../contracts/fair-room.ts';
import type { Channels } from '../channels/channels.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import { applyReported, type IntakeDelivery } from './apply-reported.ts';
import type { Intakes } from './intakes.ts';

/** Most alerts of one update, which takes a few dozen milliseconds. */
const BATCH_ALERTS = 250;

/** Most alerts that wait, shared by all intakes. */
const MAX_WAITING = 40_000;

/** Too many alerts of this intake are waiting. */
export class OverloadError extends Error {
  override name = 'OverloadError' as const;
}

/** Some alerts of a delivery weren't stored because too many are active. The others were. */
export class TooManyActiveError extends Error {
  override name = 'TooManyActiveError' as const;
  readonly count: number;

  constructor(count: number) {
    super(`No room for ${count} alerts: too many are active.`);
    this.count = count;
  }
}

/** The intake was removed while its delivery waited. */
export class RemovedIntakeError extends Error {
  override name = 'RemovedIntakeError' as const;
}

interface QueuedDelivery {
  delivery: IntakeDelivery;
  appliedCount: number;
  leftOutCount: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** The next alerts of a delivery, as one update applies them. */
interface DeliverySlice {
  queued: QueuedDelivery;
  part: IntakeDelivery;
}

export interface ApplyQueueOptions {
  state: Pick<WatchState, 'current' | 'update'>;
  channels: Pick<Channels, 'settings'>;
  intakes: Pick<Intakes, 'get'>;
  nowMs: () => number;
  /** Called after an update is stored. */
  onChange: () => void;
  log: Logger;
}

/**
 * Applies deliveries in small updates. Updates are shared because each costs work over all known alerts. Every intake
 * keeps its order and gets an equal share of each update, so a flood from one sender delays only that sender.
 */
export class ApplyQueue {
  readonly #options: ApplyQueueOptions;
  /** By intake. The intake whose turn is next comes first. */
  readonly #queues = new Map<string, QueuedDelivery[]>();
  readonly #room = new FairRoom(MAX_WAITING);
  #running: Promise<void> | undefined;

  constructor(options: ApplyQueueOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the whole delivery is stored. Rejects with `OverloadError`, `TooManyActiveError`, `RemovedIntakeError`, or
   * the store's error.
   */
  async apply(delivery: IntakeDelivery): Promise<void> {
    const { intake, alerts } = delivery;
    if (!this.#room.take(intake.id, alerts.length)) throw new OverloadError();
    await new Promise<void>((resolve, reject) => {
      const queue = this.#queues.get(intake.id) ?? [];
      this.#queues.set(intake.id, queue);
      queue.push({ delivery, appliedCount: 0, leftOutCount: 0, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run() {
    // Deliveries that arrive in the same tick share the first update.
    await Promise.resolve();
    while (this.#queues.size > 0) {
      await this.#applyNext();
      await yieldToEventLoop();
    }
    this.#running = undefined;
  }

  async #applyNext() {
    const slices = nextSlices([...this.#queues.values()]);
    try {
      const accepted = await this.#store(slices);
      for (const { queued, part } of slices) {
        const { delivery, leftOutCount } = queued;
        queued.appliedCount += part.alerts.length;
        if (!accepted.has(queued)) this.#settle(queued, new RemovedIntakeError());
        else if (queued.appliedCount < delivery.alerts.length) continue;
        else this.#settle(queued, leftOutCount > 0 && new TooManyActiveError(leftOutCount));
      }
    } catch (error) {
      for (const { queued } of slices) this.#settle(queued, error);
    }
    for (const { queued } of slices) this.#moveToEnd(queued.delivery.intake.id);
  }

  /** Stores the slices. Resolves to the deliveries whose intake still exists. */
  async #store(slices: readonly DeliverySlice[]): Promise<Set<QueuedDelivery>> {
    const { state, channels, intakes, nowMs, onChange, log } = this.#options;
    const settingsOf = await channels.settings();
    const before = state.current();
    let accepted: DeliverySlice[] = [];
    let outcome: ReturnType<typeof applyReported> | undefined;
    await state.update((watching) => {
      accepted = slices.filter(({ queued }) => intakes.get(queued.delivery.intake.id));
      const parts = accepted.map(({ part }) => part);
      outcome = applyReported(watching, parts, { nowMs: nowMs(), newId: randomUUID, settingsOf });
      return outcome.watching;
    });
    const { dropped = 0, leftOut } = outcome ?? {};
    if (dropped > 0) {
      log.error({ dropped }, 'dropped the oldest undelivered alerts: too many are waiting');
    }
    for (const { queued, part } of accepted) queued.leftOutCount += leftOut?.get(part) ?? 0;
    if (state.current() !== before) onChange();
    return new Set(accepted.map(({ queued }) => queued));
  }

  /** Answers a delivery, which is the first of its intake. */
  #settle(queued: QueuedDelivery, error: unknown) {
    const { intake, alerts } = queued.delivery;
    this.#queues.get(intake.id)?.shift();
    this.#room.giveBack(intake.id, alerts.length);
    if (error) queued.reject(error);
    else queued.resolve();
  }

  #moveToEnd(intake: string) {
    const queue = this.#queues.get(intake);
    if (!queue) return;
    this.#queues.delete(intake);
    if (queue.length > 0) this.#queues.set(intake, queue);
  }
}

function nextSlices(queues: ReadonlyArray<readonly QueuedDelivery[]>): DeliverySlice[] {
  const served = queues.slice(0, BATCH_ALERTS);
  const share = Math.floor(BATCH_ALERTS / served.length);
  return served.flatMap((queue) => slicesOf(queue, share));
}

/** An update holds each alert once, because a second change is another round of work over all open alerts. */
function slicesOf(queue: readonly QueuedDelivery[], share: number): DeliverySlice[] {
  const slices: DeliverySlice[] = [];
  const keys = new Set<string>();
  for (const queued of queue) {
    const { intake, alerts, truncated } = queued.delivery;
    const next = [];
    for (const alert of alerts.slice(queued.appliedCount)) {
      if (keys.size === share || keys.has(alert.key)) break;
      keys.add(alert.key);
      next.push(alert);
    }
    const isWhole = queued.appliedCount + next.length === alerts.length;
    if (isWhole || next.length > 0)
      slices.push({ queued, part: { intake, alerts: next, truncated } });
    if (!isWhole) break;
  }
  return slices;
}
