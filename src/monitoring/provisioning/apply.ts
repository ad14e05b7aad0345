import type { Logger } from 'pino';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Monitors } from '../monitors/monitors.ts';
import type { CheckRunner } from '../scheduler/check-runner.ts';
import type { Plan, PlanStep } from './plan.ts';

/** Steps under way at once; each waits for the store most of the time. */
const MAX_PARALLEL = 32;

const MAX_LOGGED = 5;

interface ApplyTools {
  monitors: Pick<Monitors, 'get' | 'declare' | 'edit' | 'remove'>;
  runner: Pick<CheckRunner, 'pause' | 'resume'>;
  /** Asked before each step; `false` ends the work. */
  isWanted: () => boolean;
  /** Absent if the failures were logged before. */
  log?: Logger;
}

/** Does the steps of a plan. Each can be repeated: after a kill, the next plan has the rest. */
export async function applyPlan(
  { steps }: Plan,
  tools: ApplyTools,
): Promise<{ done: number; failed: number; left: number }> {
  let [next, done, failed] = [0, 0, 0];

  async function work(): Promise<void> {
    const turn = beginTurn();
    while (tools.isWanted()) {
      const step = steps[next];
      if (!step) return;
      next += 1;
      try {
        await perform(step, tools);
        done += 1;
      } catch (error) {
        failed += 1;
        if (failed <= MAX_LOGGED) {
          tools.log?.error(
            { err: error, key: step.key, monitor: step.id },
            `a monitor declared in a file could not be ${DONE[step.kind]}; retrying`,
          );
        }
      }
      if (turn.isOver()) await turn.next();
    }
  }

  await Promise.all(Array.from({ length: MAX_PARALLEL }, work));
  return { done, failed, left: steps.length - next };
}

async function perform(step: PlanStep, { monitors, runner }: ApplyTools): Promise<void> {
  switch (step.kind) {
    case 'create':
      await monitors.declare(step.id, step.declared);
      return;
    case 'change': {
      const monitor = await monitors.edit(step.id, () => step.declared);
      if (monitor && step.resumes) await runner.resume(monitor);
      return;
    }
    case 'pause': {
      const { leftAtMs } = step;
      const monitor = await monitors.edit(step.id, ({ managedBy }) =>
        managedBy ? { managedBy: { ...managedBy, leftAtMs } } : {},
      );
      if (monitor) await runner.pause(monitor);
      return;
    }
    case 'remove':
      await monitors.remove(step.id);
  }
}

const DONE: Record<PlanStep['kind'], string> = {
  create: 'created',
  change: 'changed',
  pause: 'paused',
  remove: 'removed',
};
