import type { Logger } from 'pino';
import { z } from 'zod';
import type { Metrics } from '../../http/metrics.ts';
import type { Collection, Lease, Store } from '../../store/store.ts';
import type { Monitors } from '../monitors/monitors.ts';
import type { CheckRunner } from '../scheduler/check-runner.ts';
import type { ServiceClock } from '../time/clock.ts';
import { applyPlan } from './apply.ts';
import type { FileMonitor } from './definitions.ts';
import { type ExistingMonitor, type Plan, planFor } from './plan.ts';
import { questionLines, summaryOf } from './plan-lines.ts';
import { DefinitionsError, problemLine } from './problem.ts';
import { fingerprint } from './source-files.ts';

/** Pause between two comparisons of the files. A change is read once two comparisons agree, because some editors write in pieces. */
const COMPARE_MS = 1_000;

/** Pause between two plans while the files stay the same. */
const REPEAT_MS = 5 * 60_000;

/** Pause before a failed store is tried again. */
const RETRY_MS = 5_000;

const LEASE = 'monitors-file';

/** Confirms that monitors were meant to leave the files. */
const ConfirmedRemoval = z.object({
  /** The plan's question that this is the answer to. */
  answer: z.string(),
  atMs: z.int(),
});

/** Holds one document, the last confirmation. */
export const confirmedRemovals = {
  name: 'monitors-file',
  schema: ConfirmedRemoval,
  version: 1,
  whenCorrupt: 'forget',
} as const;

const DOCUMENT_ID = 'answer';

/** Confirms a removal for the process that applies the files, whichever it is. */
export async function confirmRemoval(
  removals: Collection<z.infer<typeof ConfirmedRemoval>>,
  answer: string,
  atMs: number,
): Promise<void> {
  await removals.update(DOCUMENT_ID, () => ({ answer, atMs }));
}

/**
 * Progress of the files. `reading` at the start, then after each comparison one of the others:
 * - `applied`: the monitors are as the files declare them.
 * - `applying`: steps are being done; a failed step leads to `failing`, a change of the files to a new plan.
 * - `elsewhere`: another process on the same database has the lease and applies them.
 * - `broken`: the files have problems, nothing is applied until they change.
 * - `asking`: so much left the files that a person must confirm it.
 * - `failing`: some monitors could not be stored; tried again after `RETRY_MS`.
 */
export type ProvisioningState =
  | { state: 'reading' | 'applying' | 'elsewhere' }
  | { state: 'applied'; monitors: number }
  | { state: 'broken' | 'asking' | 'failing'; sentence: string };

const STOPPED: ReadonlySet<ProvisioningState['state']> = new Set(['broken', 'asking', 'failing']);

export const listExisting = (monitors: Pick<Monitors, 'all'>): ExistingMonitor[] =>
  monitors.all().map(({ id, definition, maintenance, managedBy, channels, state: { status } }) => {
    const isPaused = status === 'PAUSED';
    return { id, definition, maintenance, managedBy, channels, isPaused };
  });

export interface ProvisioningOptions {
  path: string;
  /** Reads the files at `path`. Throws a `DefinitionsError` with all problems. */
  read(signal: AbortSignal): Promise<FileMonitor[]>;
  monitors: Monitors;
  runner: Pick<CheckRunner, 'pause' | 'resume'>;
  store: Pick<Store, 'lease' | 'collection'>;
  clock: ServiceClock;
  maxMonitors: number;
  metrics: Metrics;
  log: Logger;
}

/**
 * Keeps the monitors as the files at `path` declare them: compares every second, reads the files when they change, and does the
 * missing steps. Of several processes on one store, the one with the lease does it. Broken files change nothing.
 */
export class Provisioning {
  private readonly options: ProvisioningOptions;
  private readonly removals: Collection<z.infer<typeof ConfirmedRemoval>>;
  private readonly stopping = new AbortController();
  private current: ProvisioningState = { state: 'reading' };
  private lease: Lease | undefined;
  /** Fingerprints of the files, at the last comparison and at the last reading. */
  private comparedMark: string | undefined;
  private readMark: string | undefined;
  private definitions: FileMonitor[] | undefined;
  /** The next comparison makes a new plan. */
  private isDue = true;
  private dueMs = 0;
  /** The plan's question that waits for an answer. */
  private openQuestion: string | undefined;
  private lastSentence = '';
  private cancelTimer = () => {};
  private comparing: Promise<void> | undefined;

  constructor(options: ProvisioningOptions) {
    this.options = options;
    this.removals = options.store.collection(confirmedRemovals);
    options.metrics.gauge(
      'askwatch_monitors_file_stopped',
      '1 while MONITORS_FILE is not applied because it has problems, would remove too many monitors, or cannot be stored; else 0.',
      () => Number(STOPPED.has(this.current.state)),
    );
  }

  start(): void {
    this.comparing ??= this.compareAndRepeat();
  }

  state = (): ProvisioningState => this.current;

  question = (): string | undefined =>
    this.current.state === 'asking' ? this.openQuestion : undefined;

  /** Confirms a removal, which the next comparison applies. */
  async answer(answer: string): Promise<void> {
    await confirmRemoval(this.removals, answer, this.options.clock.wallMs());
  }

  async close(): Promise<void> {
    this.stopping.abort();
    this.cancelTimer();
    await this.comparing;
    await this.lease?.release();
  }

  private async compareAndRepeat(): Promise<void> {
    const { clock, log } = this.options;
    try {
      await this.compare();
    } catch (error) {
      log.error({ err: error }, 'could not compare the monitors with their file; retrying');
    }
    if (this.stopping.signal.aborted) return;
    this.cancelTimer = clock.after(COMPARE_MS, () => {
      this.comparing = this.compareAndRepeat();
    });
  }

  private async compare(): Promise<void> {
    const { path, store, clock } = this.options;
    const mark = await fingerprint(path);
    const isSettled = mark === this.comparedMark || this.readMark === undefined;
    this.comparedMark = mark;
    if (isSettled && mark !== this.readMark) await this.readFiles(mark);
    if (!this.definitions || this.stopping.signal.aborted) return;
    if (!this.lease?.isHeld()) {
      this.lease = await store.lease(LEASE);
      this.isDue = true;
    }
    if (!this.lease) {
      this.changeState({ state: 'elsewhere' });
      return;
    }
    const isAnswered = this.openQuestion !== undefined && (await this.isConfirmed());
    const isWaiting = this.openQuestion !== undefined && !isAnswered;
    if (this.isDue || isAnswered || (!isWaiting && clock.monotonicMs() >= this.dueMs)) {
      await this.apply(this.definitions);
    }
  }

  private async readFiles(mark: string): Promise<void> {
    const { read, log } = this.options;
    this.readMark = mark;
    try {
      const definitions = await read(this.stopping.signal);
      this.updateLines(definitions);
      this.definitions = definitions;
      this.openQuestion = undefined;
      this.isDue = true;
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.definitions = undefined;
      if (error instanceof DefinitionsError) {
        this.changeState({ state: 'broken', sentence: error.message });
        return;
      }
      this.readMark = undefined;
      log.error({ err: error }, 'could not read the monitors file; retrying');
    }
  }

  /** Lines move with every edit, and the API shows the newest. */
  private updateLines(definitions: readonly FileMonitor[]): void {
    const { monitors } = this.options;
    const byKey = new Map(definitions.map((one) => [one.key, one]));
    for (const { id, managedBy } of monitors.all()) {
      if (!managedBy || managedBy.leftAtMs !== undefined) continue;
      const place = byKey.get(managedBy.key);
      if (place?.file !== managedBy.file || place.line === managedBy.line) continue;
      monitors.locate(id, { file: place.file, line: place.line });
    }
  }

  private async isConfirmed(): Promise<boolean> {
    return (await this.removals.get(DOCUMENT_ID))?.answer === this.openQuestion;
  }

  private async apply(definitions: FileMonitor[]): Promise<void> {
    const { monitors, runner, clock, log } = this.options;
    const plan = await this.planOrReport(definitions);
    if (!plan) return;
    this.openQuestion = plan.question?.answer;
    if (this.openQuestion !== undefined && !(await this.isConfirmed())) {
      this.changeState({ state: 'asking', sentence: questionLines(plan).join(' ') });
      this.isDue = false;
      return;
    }
    if (plan.steps.length > 0) {
      const isFirstTry = this.current.state !== 'failing';
      this.changeState({ state: 'applying' });
      const isWanted = () =>
        !this.stopping.signal.aborted &&
        this.definitions === definitions &&
        (this.lease?.isHeld() ?? false);
      const { failed, left } = await applyPlan(plan, {
        monitors,
        runner,
        isWanted,
        log: isFirstTry ? log : undefined,
      });
      if (failed > 0) {
        const sentence = 'could not store some monitors of the file; retrying until it works';
        this.changeState({ state: 'failing', sentence });
        this.planAgainAfter(RETRY_MS);
        return;
      }
      if (left > 0) return;
      log.info({ plan: summaryOf(plan) }, 'applied the monitors file');
    }
    if (this.openQuestion !== undefined) await this.removals.update(DOCUMENT_ID, () => undefined);
    this.openQuestion = undefined;
    this.changeState({ state: 'applied', monitors: definitions.length });
    const { nextRemovalMs = Number.POSITIVE_INFINITY } = plan;
    this.planAgainAfter(Math.min(REPEAT_MS, Math.max(0, nextRemovalMs - clock.wallMs())));
  }

  private planAgainAfter(delayMs: number): void {
    this.isDue = false;
    this.dueMs = this.options.clock.monotonicMs() + delayMs;
  }

  /** The plan, unless the service couldn't hold all its monitors. */
  private async planOrReport(definitions: readonly FileMonitor[]): Promise<Plan | undefined> {
    const { path, monitors, maxMonitors, clock } = this.options;
    await monitors.catchUp();
    const standing = listExisting(monitors);
    const plan = await planFor(definitions, standing, clock.wallMs());
    const count = (kind: string) => plan.steps.filter((step) => step.kind === kind).length;
    const created = count('create');
    const total = standing.length + created - count('remove');
    if (created === 0 || total <= maxMonitors) return plan;
    const message = `with these files there would be ${total} monitors, and this service holds at most ${maxMonitors}; declare fewer, or remove others`;
    const sentence = problemLine({ file: path, line: 1, column: 1, message });
    this.changeState({ state: 'broken', sentence });
    this.planAgainAfter(REPEAT_MS);
    return undefined;
  }

  /** Logs each sentence once, until the files are applied. */
  private changeState(next: ProvisioningState): void {
    const { log } = this.options;
    this.current = next;
    if (next.state === 'applied') this.lastSentence = '';
    if (!('sentence' in next) || next.sentence === this.lastSentence) return;
    const { state, sentence } = next;
    this.lastSentence = sentence;
    if (state === 'broken') {
      const problems = sentence.split('\n');
      log.error({ problems }, 'the monitors file has problems; nothing was applied');
    } else if (state === 'asking') {
      const message = 'the monitors file was not applied: it would remove too many monitors';
      log.warn({ question: sentence }, message);
    } else log.error(sentence);
  }
}
