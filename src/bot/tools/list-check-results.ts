import { z } from 'zod';
import { CheckRecord } from '../../contracts/monitoring-additions.ts';
import { counted, shortened } from '../shared/text-format.ts';
import { monitorMeant, offered, pageOf } from './monitors.ts';
import { isoTime, limitField, monitorField, tool } from './tool.ts';

const DEFAULT_LIMIT = 20;

export const listCheckResults = tool({
  name: 'list_check_results',
  title: 'List the last checks of a monitor',
  description:
    'Lists the last checks of one monitor (heartbeat: signals), newest first: passed or why not, and response time.',
  input: z.object({ monitor: monitorField, limit: limitField(100, DEFAULT_LIMIT) }),
  output: z.object({
    as_of: z.string(),
    monitor_id: z.string(),
    monitor: z.string(),
    results: z.array(CheckRecord),
  }),
  what: ({ monitor }) => `checks of ${shortened(monitor, 60)}`,
  account: ({ monitor_id: id, monitor, results }) => ({
    what: `checks of ${shortened(monitor, 60)}`,
    found: checksInWords(results),
    page: pageOf({ id }),
  }),
  async run({ monitor: meant, limit = DEFAULT_LIMIT }, context) {
    const { monitoring, nowMs, signal } = context;
    const { id, name } = await monitorMeant(meant, context);
    const results = await offered('single checks', monitoring.results(id, { limit, signal }));
    return { as_of: isoTime(nowMs), monitor_id: id, monitor: shortened(name, 200), results };
  },
});

function checksInWords(results: ReadonlyArray<z.infer<typeof CheckRecord>>): string {
  const [newest] = results;
  if (!newest) return 'none yet';
  const failed = results.filter(({ ok }) => !ok).length;
  return `${counted(results.length, 'check')}, ${failed} failed, the last at ${newest.at.slice(11, 16)} UTC`;
}
