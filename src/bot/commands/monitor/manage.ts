import { z } from 'zod';
import { StatusError } from '../../../clients/errors.ts';
import type { MonitoringClient } from '../../../clients/monitoring.ts';
import { type CardAction, factsPart, isCarried, textCard, textPart } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { type Reply, toAsker, toEveryone } from '../../shared/invocation.ts';
import type { Right } from '../../shared/rights.ts';
import { shownTarget } from '../../shared/target-link.ts';
import { shortened } from '../../shared/text-format.ts';
import { findMonitor, listAll } from '../../tools/monitors.ts';
import { type Call, command, type Once, requiredText } from '../command.ts';

/** The input of whatever is about one monitor. */
export const monitorInput = z.object({
  monitor: requiredText(2048, 'Its name, a part of its name or target, or its id'),
});

/** Everybody watches the same monitors. */
const mayManage = (to: string): Right => ({ setting: 'mayManage', over: 'shared', to });

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
    const { id, name } = await find(call.monitoring, monitor);
    const paused = await offered('pause', call.monitoring.pause(id));
    const text = `Nobody is told of ${shortened(name, 100)} until then.`;
    const action = { label: 'Resume', command: 'monitor resume', values: { monitor: id } };
    return said(call, `${titleOf(paused)} is paused`, text, [action]);
  },
});

/** `/monitor resume`: checks it again. */
export const monitorResume = command({
  name: 'monitor resume',
  summary: 'Check a paused monitor again',
  right: mayManage('resume monitors'),
  input: monitorInput,
  once: onceFor('resume'),
  examples: ['/monitor resume shop'],
  wholeLine: true,
  async run({ monitor }, call) {
    const { id } = await find(call.monitoring, monitor);
    const resumed = await offered('resume', call.monitoring.resume(id));
    return said(call, `${titleOf(resumed)} is checked again`, 'Its first check comes soon.');
  },
});

/** `/monitor remove`: asks whether that is meant, since nothing brings its history back. */
export const monitorRemove = command({
  name: 'monitor remove',
  summary: 'Stop watching something for good; asks first',
  right: mayManage('remove monitors'),
  input: monitorInput,
  examples: ['/monitor remove shop'],
  wholeLine: true,
  async run({ monitor }, call) {
    const { id, name, target } = await find(call.monitoring, monitor);
    const values = { monitor: id };
    if (!isCarried({ command: removeForGood.name, values })) {
      throw new CommandError(
        `The id of ${shortened(name, 60)} is too long for the button that would ask again. Remove it at the monitoring service.`,
      );
    }
    return toAsker({
      tone: 'warning',
      title: `Remove ${shortened(name, 100)}?`,
      parts: [
        factsPart({ label: 'Target', value: shownTarget(target) }),
        textPart(
          'Its results and incidents go with it, for good. /monitor pause only stops its checks.',
        ),
      ],
      actions: [
        { label: 'Remove', command: removeForGood.name, values },
        { label: 'Pause', command: 'monitor pause', values },
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
    const known = (await listAll(call.monitoring)).find((one) => one.id === id);
    if (!known) throw new CommandError('This monitor is removed already.');
    await offered('remove', call.monitoring.remove(id));
    return said(call, `${titleOf(known)} is no longer watched`, 'Its results are removed, too.');
  },
});

const titleOf = ({ name }: { name: string }) => shortened(name, 100);

const find = async (monitoring: MonitoringClient, meant: string) =>
  findMonitor(await listAll(monitoring), meant);

/** What the contract does not have, another service need not offer. */
async function offered<T>(what: 'pause' | 'resume' | 'remove', asked: Promise<T>): Promise<T> {
  return await asked.catch((error: unknown) => {
    if (error instanceof StatusError && [404, 405, 501].includes(error.status)) {
      throw new CommandError(
        `The monitoring service does not offer to ${what} monitors, or this one was just removed.`,
      );
    }
    throw error;
  });
}

/** What was done, and by whom: it is everybody's business. */
function said({ person }: Call, title: string, text: string, actions: CardAction[] = []): Reply {
  return toEveryone({
    ...textCard('good', title, text),
    footer: `By ${shortened(person.name, 80)}`,
    ...(actions.every(isCarried) && actions.length > 0 && { actions }),
  });
}
