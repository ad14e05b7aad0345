import { z } from 'zod';
import { StatusError } from '../../../clients/errors.ts';
import type { Monitor } from '../../../contracts/monitoring.ts';
import {
  type CardAction,
  type CardPart,
  isCarried,
  textCard,
  textPart,
} from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker } from '../../shared/invocation.ts';
import type { Right } from '../../shared/rights.ts';
import { shortened } from '../../shared/text-format.ts';
import { command, requiredText } from '../command.ts';
import { onceFor } from './manage.ts';

const input = z.object({ monitor: requiredText(200, 'Its id') });

const right: Right = { setting: 'mayManage', over: 'shared', to: 'create push addresses' };

/** What the button under a heartbeat does: asks whether that is meant, since the address that its job has stops working. */
export const newPushAddress = command({
  name: 'monitor push address',
  summary: 'Create a new push address for a heartbeat; asks first',
  right,
  input,
  async run({ monitor: id }, { monitoring }) {
    const { name } = heartbeat(await monitoring.list(), id);
    const question = textCard(
      'warning',
      `Create a new push address for ${shortened(name, 100)}?`,
      'The current address stops working at once. The history of the heartbeat is kept.',
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
  summary: 'Create a new push address for a heartbeat, as its button says',
  right,
  input,
  once: onceFor('push address'),
  async run({ monitor: id }, { monitoring }) {
    const { name } = heartbeat(await monitoring.list(), id);
    const { push_url } = await monitoring.renewPushToken(id).catch((error: unknown) => {
      if (error instanceof StatusError && [404, 405, 501].includes(error.status)) {
        throw new CommandError(
          'The monitoring service cannot create a new push address, or this monitor was just removed.',
        );
      }
      throw error;
    });
    // Whoever has the address can report the job as alive.
    return toAsker({
      tone: 'good',
      title: `New push address for ${shortened(name, 100)}`,
      parts: pushParts(push_url),
    });
  },
});

function heartbeat(monitors: readonly Monitor[], id: string): Monitor {
  const known = monitors.find((one) => one.id === id);
  if (known?.check_type === 'HEARTBEAT') return known;
  throw new CommandError(
    known ? `${shortened(known.name, 60)} is not a heartbeat.` : 'This monitor is already removed.',
  );
}

/** How a job reports itself, with an address that is shown this once. Pure. */
export const pushParts = (pushUrl: string): CardPart[] => [
  textPart(
    'Have the job call this address each time it finishes. It is shown only once, and anyone who has it can send the heartbeat.',
  ),
  { kind: 'code', text: `curl -X POST ${pushUrl}` },
];

/** How a job reports itself, for who has its address or may have another; nothing for what is no job of ours. Pure. */
export function pingHelp(monitor: Monitor): { parts: CardPart[]; actions: CardAction[] } {
  // A service of the contract alone counts no changes.
  if (monitor.check_type !== 'HEARTBEAT' || monitor.status_changes === undefined) {
    return { parts: [], actions: [] };
  }
  const action = {
    label: 'New push address',
    command: newPushAddress.name,
    values: { monitor: monitor.id },
  };
  const lost = isCarried(action)
    ? ' If the address is lost, people who can manage monitors can create a new one with the button.'
    : '';
  return {
    parts: [
      textPart(
        `The job calls its push address each time it finishes: curl -fsS <push address>. Add /start to report that it began, and /fail or its exit code to report how it ended.${lost}`,
      ),
    ],
    actions: lost === '' ? [] : [action],
  };
}
