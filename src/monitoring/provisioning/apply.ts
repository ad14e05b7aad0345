import type { Logger } from 'pino';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Monitors } from '../monitors/monitors.ts';
import type { CheckRunner } from '../scheduler/check-runner.ts';
import type { Plan, Step } from './plan.ts';

/** Steps under way at once: each waits for the store most of the time. */
const AT_ONCE = 32;

/** Failures that are told one by one. */
const MAX_TOLD = 5;

/**
 * Does what a plan says, and nothing that is not meant any more once `goesOn` says no. Each step can be done again: a kill in the middle
 * leaves a plan that has the rest. Resolves to how many steps were done, failed and were left.
 */
export async function applyPlan(
  { steps }: Plan,
  {
    monitors,
    runner,
    goesOn,
    log,
  }: {
    monitors: Pick<Monitors, 'get' | 'declare' | 'edit' | 'remove'>;
    runner: Pick<CheckRunner, 'pause' | 'resume'>;
    goesOn: () => boolean;
    /** Is told what failed; absent when it was told before. */
    log?: Logger;
  },
): Promise<{ done: number; failed: number; left: number }> {
  let [next, done, failed] = [0, 0, 0];

  async function perform(step: Step): Promise<void> {
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

  async function work(): Promise<void> {
    const turn = beginTurn();
    while (goesOn()) {
      const step = steps[next];
      if (!step) return;
      next += 1;
      try {
        await perform(step);
        done += 1;
      } catch (error) {
        failed += 1;
        if (failed <= MAX_TOLD) {
          const { kind, key, id } = step;
          log?.error(
            { err: error, key, monitor: id },
            `a monitor declared in a file could not be ${DONE[kind]}; retrying`,
          );
        }
      }
      if (turn.isOver()) await turn.next();
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, failed, left: steps.length - next };
}

const DONE: Record<Step['kind'], string> = {
  create: 'created',
  change: 'changed',
  pause: 'paused',
  remove: 'removed',
};
