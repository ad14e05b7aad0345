import { z } from 'zod';
import { StatusError } from '../../../clients/errors.ts';
import { textCard } from '../../shared/card.ts';
import { CommandError } from '../../shared/errors.ts';
import { toAsker } from '../../shared/invocation.ts';
import { command, requiredText } from '../command.ts';

/** `/monitor heartbeat`: reports a job as alive by hand, as the job itself would. */
export const monitorHeartbeat = command({
  name: 'monitor heartbeat',
  summary: 'Report a job as alive by hand; only you see the answer',
  right: 'anyone',
  input: z.object({
    token: requiredText(2048, 'The push address of its monitor, or the token at its end'),
  }),
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
    // Whoever has the token can report the job as alive.
    return toAsker(textCard('good', 'Heartbeat sent', 'The job now counts as alive.'));
  },
});

/** The last part of an address, or all of what is no address. */
function tokenIn(text: string): string {
  const path = URL.canParse(text) ? new URL(text).pathname : text;
  return path.split('/').filter(Boolean).at(-1) ?? text;
}
