import { z } from 'zod';
import { factsPart, isCarried, textPart } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryoneBy } from '../../shared/invocation.ts';
import { mayManage } from '../../shared/rights.ts';
import { isPaused } from '../../shared/status.ts';
import { shownTarget } from '../../shared/target-link.ts';
import { shortened } from '../../shared/text-format.ts';
import { findMonitor } from '../../tools/monitors.ts';
import { pause, refuseIfPaused } from '../../tools/pause-monitor.ts';
import { remove } from '../../tools/remove-monitor.ts';
import { refuseUnlessPaused, resume } from '../../tools/resume-monitor.ts';
import { command, type Once, requiredText } from '../command.ts';

/** Input of commands about one monitor. */
export const monitorInput = z.object({
  monitor: requiredText(2048, 'Its name, a part of its name or target, or its id'),
});

/** Everyone's presses count as one, for some seconds. */
export function onceFor(what: string) {
  return ({ monitor }: { monitor: string }): Once => ({
    key: `${what} ${monitor}`,
    keepMs: 3_000,
    shown: '',
  });
}

export const monitorPause = command({
  name: 'monitor pause',
  summary: 'Stop checking a monitor until it is resumed',
  group: 'watch',
  right: mayManage('pause monitors'),
  input: monitorInput,
  once: onceFor('pause'),
  examples: ['/monitor pause shop'],
  wholeLine: true,
  async run({ monitor }, { monitoring, person }) {
    const found = findMonitor(await monitoring.list(), monitor);
    refuseIfPaused(found);
    return toEveryoneBy(person, await pause(found, monitoring));
  },
});

export const monitorResume = command({
  name: 'monitor resume',
  summary: 'Start checking a paused monitor again',
  group: 'watch',
  right: mayManage('resume monitors'),
  input: monitorInput,
  once: onceFor('resume'),
  examples: ['/monitor resume shop'],
  wholeLine: true,
  async run({ monitor }, { monitoring, person }) {
    const found = findMonitor(await monitoring.list(), monitor);
    refuseUnlessPaused(found);
    return toEveryoneBy(person, await resume(found, monitoring));
  },
});

export const monitorRemove = command({
  name: 'monitor remove',
  summary: 'Remove a monitor for good; asks first',
  group: 'watch',
  right: mayManage('remove monitors'),
  input: monitorInput,
  examples: ['/monitor remove shop'],
  wholeLine: true,
  async run({ monitor }, { monitoring }) {
    const found = findMonitor(await monitoring.list(), monitor);
    const { id, name, target } = found;
    const paused = isPaused(found);
    const values = { monitor: id };
    if (!isCarried({ command: removeForGood.name, values })) {
      throw new CommandError(
        `The id of ${shortened(name, 60)} is too long for a confirmation button. Remove it in the monitoring service.`,
      );
    }
    return toAsker({
      tone: 'warning',
      title: `Remove ${shortened(name, 100)}?`,
      parts: [
        factsPart({ label: 'Target', value: shownTarget(target) }),
        textPart(
          `Its results and incidents are deleted too, for good.${paused ? '' : ' To only stop its checks, pause it.'}`,
        ),
      ],
      actions: [
        { label: 'Remove', style: 'danger', command: removeForGood.name, values },
        ...(paused ? [] : [{ label: 'Pause', command: 'monitor pause', values }]),
      ],
    });
  },
});

/** The button under the question of `/monitor remove`. */
export const removeForGood = command({
  name: 'monitor remove for good',
  summary: 'Remove a monitor, as its button says',
  right: mayManage('remove monitors'),
  input: z.object({ monitor: requiredText(200, 'Its id') }),
  once: onceFor('remove'),
  async run({ monitor: id }, { monitoring, person }) {
    const found = (await monitoring.list()).find((one) => one.id === id);
    if (!found) throw new CommandError('This monitor is already removed.');
    return toEveryoneBy(person, await remove(found, monitoring));
  },
});
