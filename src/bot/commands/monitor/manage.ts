import { z } from 'zod';
import type { MonitoringClient } from '../../../clients/monitoring.ts';
import { type Card, factsPart, isCarried, textPart } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import { isPaused } from '../../shared/status.ts';
import { shownTarget } from '../../shared/target-link.ts';
import { shortened } from '../../shared/text-format.ts';
import { findMonitor } from '../../tools/monitors.ts';
import { mayManage, pause, refuseIfPaused } from '../../tools/pause-monitor.ts';
import { remove } from '../../tools/remove-monitor.ts';
import { refuseUnlessPaused, resume } from '../../tools/resume-monitor.ts';
import { type Call, command, type Once, requiredText } from '../command.ts';

/** The input of whatever is about one monitor. */
export const monitorInput = z.object({
  monitor: requiredText(2048, 'Its name, a part of its name or target, or its id'),
});

/** Whoever presses, a monitor is changed once; a moment later somebody may mean it again. */
export function onceFor(what: string) {
  return ({ monitor }: { monitor: string }): Once => ({
    key: `${what} ${monitor}`,
    keepMs: 3_000,
    shown: '',
  });
}

/** `/monitor pause`: no checks and no alerts until it is resumed. */
export const monitorPause = command({
  name: 'monitor pause',
  summary: 'Stop checking a monitor until it is resumed',
  right: mayManage('pause monitors'),
  input: monitorInput,
  once: onceFor('pause'),
  examples: ['/monitor pause shop'],
  wholeLine: true,
  async run({ monitor }, call) {
    const known = await find(call.monitoring, monitor);
    refuseIfPaused(known);
    return said(call, await pause(known, call.monitoring));
  },
});

/** `/monitor resume`: starts its checks again. */
export const monitorResume = command({
  name: 'monitor resume',
  summary: 'Start checking a paused monitor again',
  right: mayManage('resume monitors'),
  input: monitorInput,
  once: onceFor('resume'),
  examples: ['/monitor resume shop'],
  wholeLine: true,
  async run({ monitor }, call) {
    const known = await find(call.monitoring, monitor);
    refuseUnlessPaused(known);
    return said(call, await resume(known, call.monitoring));
  },
});

/** `/monitor remove`: asks whether that is meant, since nothing brings its history back. */
export const monitorRemove = command({
  name: 'monitor remove',
  summary: 'Remove a monitor for good; asks first',
  right: mayManage('remove monitors'),
  input: monitorInput,
  examples: ['/monitor remove shop'],
  wholeLine: true,
  async run({ monitor }, call) {
    const found = await find(call.monitoring, monitor);
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
          paused
            ? 'Its results and incidents are deleted too, for good.'
            : 'Its results and incidents are deleted too, for good. To only stop its checks, pause it.',
        ),
      ],
      actions: [
        { label: 'Remove', style: 'danger', command: removeForGood.name, values },
        ...(paused ? [] : [{ label: 'Pause', command: 'monitor pause', values }]),
      ],
    });
  },
});

/** What the button under the question does; nobody types it. */
export const removeForGood = command({
  name: 'monitor remove for good',
  summary: 'Remove a monitor, as its button says',
  right: mayManage('remove monitors'),
  input: z.object({ monitor: requiredText(200, 'Its id') }),
  once: onceFor('remove'),
  async run({ monitor: id }, call) {
    const known = (await call.monitoring.list()).find((one) => one.id === id);
    if (!known) throw new CommandError('This monitor is already removed.');
    return said(call, await remove(known, call.monitoring));
  },
});

const find = async (monitoring: MonitoringClient, meant: string) =>
  findMonitor(await monitoring.list(), meant);

/** What was done, and by whom: it is everybody's business. */
const said = ({ person }: Call, card: Card) =>
  toEveryone({ ...card, footer: `By ${shortened(person.name, 80)}` });
