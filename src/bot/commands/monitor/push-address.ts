import { z } from 'zod';
import { StatusError } from '../../../clients/errors.ts';
import type { Monitor } from '../../../contracts/monitoring.ts';
import {
  type CardAction,
  type CardPart,
  codePart,
  fittingActions,
  textCard,
  textPart,
} from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker } from '../../shared/invocation.ts';
import { mayManage } from '../../shared/rights.ts';
import { shortened } from '../../shared/text-format.ts';
import { offered } from '../../tools/monitors.ts';
import { command, requiredText } from '../command.ts';
import { onceFor } from './manage.ts';

export const monitorHeartbeat = command({
  name: 'monitor heartbeat',
  summary: 'Report a job as alive by hand; only you see the answer',
  group: 'watch',
  right: 'anyone',
  input: z.object({
    token: requiredText(2048, 'The push address of its monitor, or the token at its end'),
  }),
  hasSecret: () => true,
  examples: ['/monitor heartbeat https://askwatch.example.com/api/v1/public/push/hb_abc'],
  wholeLine: true,
  async run({ token }, { monitoring }) {
    await monitoring.push(tokenIn(token)).catch((error: unknown) => {
      if (error instanceof StatusError && error.status === 404) {
        throw new CommandError(
          'No heartbeat has this token. Copy the whole push address, or create a new one: /monitor show',
        );
      }
      throw error;
    });
    // Anyone who has the token can report the job as alive.
    return toAsker(textCard('good', 'Heartbeat sent', 'The job now counts as alive.'));
  },
});

/** The last part of an address, or a token as it is. */
function tokenIn(text: string): string {
  const path = URL.canParse(text) ? new URL(text).pathname : text;
  return path.split('/').filter(Boolean).at(-1) ?? text;
}

const input = z.object({ monitor: requiredText(200, 'Its id') });

const right = mayManage('create push addresses');

/** The button under a heartbeat. It asks first, because the current address stops working. */
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
    const values = { monitor: id };
    const action = { label: 'New address', command: renewPushAddress.name, values };
    return toAsker({ ...question, actions: [action] });
  },
});

/** The button under that question. */
export const renewPushAddress = command({
  name: 'monitor push address new',
  summary: 'Create a new push address for a heartbeat, as its button says',
  right,
  input,
  once: onceFor('push address'),
  async run({ monitor: id }, { monitoring }) {
    const { name } = heartbeat(await monitoring.list(), id);
    const { push_url } = await offered('new push addresses', monitoring.renewPushToken(id));
    // Anyone who has the address can report the job as alive.
    return toAsker({
      tone: 'good',
      title: `New push address for ${shortened(name, 100)}`,
      parts: pushParts(push_url),
    });
  },
});

function heartbeat(monitors: readonly Monitor[], id: string): Monitor {
  const found = monitors.find((one) => one.id === id);
  if (found?.check_type === 'HEARTBEAT') return found;
  throw new CommandError(
    found ? `${shortened(found.name, 60)} is not a heartbeat.` : 'This monitor is already removed.',
  );
}

/** Tells how a job reports itself. Its address is shown only once. Pure. */
export const pushParts = (pushUrl: string): CardPart[] => [
  textPart(
    'Have the job call this address each time it finishes. It is shown only once, and anyone who has it can send the heartbeat.',
  ),
  codePart(`curl -X POST ${pushUrl}`),
];

/** Tells how a job reports itself, without its address. Empty for other monitors. Pure. */
export function pingHelp(monitor: Monitor): { parts: CardPart[]; actions: CardAction[] } {
  // A service of the bare contract doesn't count changes.
  if (monitor.check_type !== 'HEARTBEAT' || monitor.status_changes === undefined) {
    return { parts: [], actions: [] };
  }
  const values = { monitor: monitor.id };
  const actions = fittingActions({
    label: 'New push address',
    command: newPushAddress.name,
    values,
  });
  const lost =
    actions.length > 0
      ? ' If the address is lost, people who can manage monitors can create a new one with the button.'
      : '';
  const help = `The job calls its push address each time it finishes: curl -fsS <push address>. Add /start to report that it began, and /fail or its exit code to report how it ended.${lost}`;
  return { parts: [textPart(help)], actions };
}
