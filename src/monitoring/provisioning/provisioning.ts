import type { Logger } from 'pino';
import { z } from 'zod';
import type { Metrics } from '../../http/metrics.ts';
import type { Collection, Lease, Store } from '../../store/store.ts';
import type { Monitors } from '../monitors/monitors.ts';
import type { CheckRunner } from '../scheduler/check-runner.ts';
import type { Clock } from '../time/clock.ts';
import { applyPlan } from './apply.ts';
import type { WantedMonitor } from './definitions.ts';
import { type Plan, planFor, type StandingMonitor } from './plan.ts';
import { questionLines, summaryOf } from './plan-lines.ts';
import { DefinitionsError } from './problem.ts';
import { fingerprint } from './source-files.ts';

/** How often is looked whether the files are others. What changed is read once it is the same at two looks: some write in pieces. */
const LOOK_MS = 1_000;

/** How often is looked, besides, whether all is as the files declare it. */
const REPEAT_MS = 5 * 60_000;

/** How soon what could not be stored is tried again. */
const AGAIN_MS = 5_000;

const LEASE = 'monitors-file';

/** What somebody has said about monitors that left the files. */
const Answer = z.object({
  /** The question that it is the answer to. */
  answer: z.string(),
  atMs: z.int(),
});

/** The collection of answers, of which there is one document. */
export const answersCollection = {
  name: 'monitors-file',
  schema: Answer,
  version: 1,
  whenCorrupt: 'forget',
} as const;

const ANSWER = 'answer';

/** Says, for whichever process applies the files, that what left them was meant to. */
export async function storeAnswer(
  answers: Collection<z.infer<typeof Answer>>,
  answer: string,
  atMs: number,
): Promise<void> {
  await answers.update(ANSWER, () => ({ answer, atMs }));
}

/** How the monitors stand to the files, for people. */
export type ProvisioningState =
  | { state: 'reading' }
  | { state: 'applied'; monitors: number }
  | { state: 'applying' }
  /** Another process on the same database applies them. */
  | { state: 'elsewhere' }
  /** The files have problems; nothing of them is applied. */
  | { state: 'broken'; sentence: string }
  /** So much left the files that somebody has to say that it is meant. */
  | { state: 'asking'; sentence: string }
  /** Some could not be stored, which is tried again. */
  | { state: 'failing'; sentence: string };

/** What keeps monitors as files declare them. */
export type Provisioning = ReturnType<typeof createProvisioning>;

/** What is needed of monitors to plan. */
export const standingMonitors = (monitors: Pick<Monitors, 'all'>): StandingMonitor[] =>
  monitors.all().map(({ id, definition, maintenance, managedBy, channels, state: { status } }) => ({
    ...{ id, definition, maintenance, managedBy, channels },
    isPaused: status === 'PAUSED',
  }));

/**
 * Keeps the monitors as the files at `path` declare them: reads them when they change, and does what is missing. Of several processes on
 * one store one does, and what two do is done once. What is wrong changes nothing and is told once.
 */
export function createProvisioning(options: {
  path: string;
  /** Reads the files at `path`. Throws a `DefinitionsError` with all that is wrong. */
  read(signal: AbortSignal): Promise<WantedMonitor[]>;
  monitors: Monitors;
  runner: Pick<CheckRunner, 'pause' | 'resume'>;
  store: Pick<Store, 'lease' | 'collection'>;
  clock: Clock;
  maxMonitors: number;
  metrics: Metrics;
  log: Logger;
}) {
  const { path, read, monitors, runner, store, clock, maxMonitors, metrics, log } = options;
  const answers = store.collection(answersCollection);
  const stopping = new AbortController();
  let state: ProvisioningState = { state: 'reading' };
  let lease: Lease | undefined;
  let seen: string | undefined;
  let readOf: string | undefined;
  let definitions: WantedMonitor[] | undefined;
  /** Something may not be as the files declare it. */
  let isDue = true;
  let dueMs = 0;
  /** A question that nobody has answered yet. */
  let asked: string | undefined;
  let lastTold = '';
  let cancelLook = () => {};
  let looking: Promise<void> | undefined;

  metrics.gauge(
    'askwatch_monitors_file_stopped',
    '1 while MONITORS_FILE is not applied because it has problems, would remove too many monitors, or cannot be stored; else 0.',
    () => Number(['broken', 'asking', 'failing'].includes(state.state)),
  );

  /** Tells operators, once as long as it is the same. */
  function tell(next: ProvisioningState): void {
    state = next;
    const text = 'sentence' in next ? next.sentence : '';
    if (next.state === 'applied') lastTold = '';
    if (text === '' || text === lastTold) return;
    lastTold = text;
    if (next.state === 'broken')
      log.error(
        { problems: text.split('\n') },
        'the monitors file has problems; nothing was applied',
      );
    else if (next.state === 'asking')
      log.warn(
        { question: text },
        'the monitors file was not applied: it would remove too many monitors',
      );
    else log.error(text);
  }

  async function readAgain(mark: string): Promise<void> {
    readOf = mark;
    try {
      const now = await read(stopping.signal);
      // Lines move with every edit: who asks is told the newest.
      const places = new Map(now.map((one) => [one.key, one]));
      for (const { id, managedBy } of monitors.all()) {
        if (!managedBy || managedBy.leftAtMs !== undefined) continue;
        const place = places.get(managedBy.key);
        if (place?.file !== managedBy.file || place.line === managedBy.line) continue;
        monitors.locate(id, { file: place.file, line: place.line });
      }
      definitions = now;
      asked = undefined;
      isDue = true;
    } catch (error) {
      if (stopping.signal.aborted) return;
      definitions = undefined;
      if (!(error instanceof DefinitionsError)) {
        readOf = undefined;
        log.error({ err: error }, 'could not read the monitors file; retrying');
        return;
      }
      tell({ state: 'broken', sentence: error.message });
    }
  }

  const isAnswered = async (question: string) => (await answers.get(ANSWER))?.answer === question;

  async function planNow(wanted: readonly WantedMonitor[]): Promise<Plan> {
    await monitors.catchUp();
    const standing = standingMonitors(monitors);
    const plan = await planFor(wanted, standing, clock.wallMs());
    const count = (kind: string) => plan.steps.filter((step) => step.kind === kind).length;
    const after = standing.length + count('create') - count('remove');
    if (count('create') > 0 && after > maxMonitors) {
      const message = `with these files there would be ${after} monitors, and this service holds at most ${maxMonitors}; declare fewer, or remove others`;
      throw new DefinitionsError([{ file: path, line: 1, column: 1, message }]);
    }
    return plan;
  }

  async function apply(now: WantedMonitor[]): Promise<void> {
    let plan: Plan;
    try {
      plan = await planNow(now);
    } catch (error) {
      if (!(error instanceof DefinitionsError)) throw error;
      tell({ state: 'broken', sentence: error.message });
      isDue = false;
      dueMs = clock.monotonicMs() + REPEAT_MS;
      return;
    }
    asked = plan.question?.answer;
    if (asked !== undefined && !(await isAnswered(asked))) {
      tell({ state: 'asking', sentence: questionLines(plan).join(' ') });
      isDue = false;
      return;
    }
    if (plan.steps.length > 0) {
      const isFirst = state.state !== 'failing';
      tell({ state: 'applying' });
      const goesOn = () =>
        !stopping.signal.aborted && definitions === now && (lease?.isHeld() ?? false);
      const { failed, left } = await applyPlan(plan, {
        ...{ monitors, runner, goesOn },
        ...(isFirst && { log }),
      });
      if (left > 0 && failed === 0) return;
      if (failed > 0) {
        tell({
          state: 'failing',
          sentence: 'could not store some monitors of the file; retrying until it works',
        });
        isDue = false;
        dueMs = clock.monotonicMs() + AGAIN_MS;
        return;
      }
      log.info({ plan: summaryOf(plan) }, 'applied the monitors file');
    }
    if (asked !== undefined) await answers.update(ANSWER, () => undefined);
    asked = undefined;
    tell({ state: 'applied', monitors: now.length });
    isDue = false;
    const removalMs =
      plan.nextRemovalMs === undefined ? REPEAT_MS : plan.nextRemovalMs - clock.wallMs();
    dueMs = clock.monotonicMs() + Math.min(REPEAT_MS, Math.max(0, removalMs));
  }

  async function look(): Promise<void> {
    const mark = await fingerprint(path);
    const isSettled = mark === seen || readOf === undefined;
    seen = mark;
    if (isSettled && mark !== readOf) await readAgain(mark);
    if (!definitions || stopping.signal.aborted) return;
    if (!lease?.isHeld()) {
      lease = await store.lease(LEASE);
      isDue = true;
    }
    if (!lease) {
      tell({ state: 'elsewhere' });
      return;
    }
    if (asked !== undefined && !isDue && !(await isAnswered(asked))) return;
    if (isDue || asked !== undefined || clock.monotonicMs() >= dueMs) await apply(definitions);
  }

  async function lookAgain(): Promise<void> {
    try {
      await look();
    } catch (error) {
      log.error({ err: error }, 'could not compare the monitors with their file; retrying');
    }
    if (!stopping.signal.aborted) {
      cancelLook = clock.after(LOOK_MS, () => {
        looking = lookAgain();
      });
    }
  }

  return {
    start(): void {
      looking ??= lookAgain();
    },
    state: () => state,
    /** The question that waits for an answer. */
    question: () => (state.state === 'asking' ? asked : undefined),
    /** Says that what left the files was meant to; applied at the next look. */
    async answer(answer: string): Promise<void> {
      await storeAnswer(answers, answer, clock.wallMs());
    },
    async close(): Promise<void> {
      stopping.abort();
      cancelLook();
      await looking;
      await lease?.release();
    },
  };
}
