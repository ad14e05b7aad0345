import { z } from 'zod';
import { StatusError } from '../../../clients/errors.ts';
import type { Monitor } from '../../../contracts/monitoring.ts';
import { textCard } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker } from '../../shared/invocation.ts';
import type { Right } from '../../shared/rights.ts';
import { shortened } from '../../shared/text-format.ts';
import { command, requiredText } from '../command.ts';
import { listAll, onceFor } from './manage.ts';
import { NEW_PUSH_ADDRESS, pushParts } from './ping-help.ts';

const input = z.object({ monitor: requiredText(200, 'Its id') });

const right: Right = { setting: 'mayManage', over: 'shared', to: 'make push addresses' };

/** What the button under a heartbeat does: asks whether that is meant, since the address that its job has stops working. */
export const newPushAddress = command({
  name: NEW_PUSH_ADDRESS,
  summary: 'Make a new push address for a heartbeat; asks first',
  right,
  input,
  async run({ monitor: id }, { monitoring }) {
    const { name } = heartbeat(await listAll(monitoring), id);
    const question = textCard(
      'warning',
      `Make a new push address for ${shortened(name, 100)}?`,
      'The one that its job has stops working at once. What is known of the job stays.',
    );
    const action = {
      label: 'New address',
      command: renewPushAddress.name,
      values: { monitor: id },
    };
    return toAsker({ ...question, actions: [action] });
  },
});

/** What the button under that question does. */
export const renewPushAddress = command({
  name: 'monitor push address new',
  summary: 'Make a new push address for a heartbeat, as its button says',
  right,
  input,
  once: onceFor('push address'),
  async run({ monitor: id }, { monitoring }) {
    const { name } = heartbeat(await listAll(monitoring), id);
    const { push_url } = await monitoring.renewPushToken(id).catch((error: unknown) => {
      if (error instanceof StatusError && [404, 405, 501].includes(error.status)) {
        throw new CommandError(
          'The monitoring service does not offer to make a new push address, or this monitor was just removed.',
        );
      }
      throw error;
    });
    // Whoever has the address can report the job as alive.
    return toAsker({
      tone: 'good',
      title: `The new push address of ${shortened(name, 100)}`,
      parts: pushParts(push_url),
    });
  },
});

function heartbeat(monitors: readonly Monitor[], id: string): Monitor {
  const known = monitors.find((one) => one.id === id);
  if (known?.check_type === 'HEARTBEAT') return known;
  throw new CommandError(
    known ? `${shortened(known.name, 60)} is no heartbeat.` : 'This monitor is removed already.',
  );
}
