import { z } from 'zod';
import { shortened } from '../shared/text-format.ts';
import { checkedWords } from './get-monitor.ts';
import { monitorMeant, offered, pageOf } from './monitors.ts';
import { MonitorView, monitorView } from './read-model.ts';
import { isoTime, monitorField, tool } from './tool.ts';

/** A check may take as long as its monitor's timeout. */
const CHECK_MS = 20_000;

export const checkMonitor = tool({
  name: 'check_monitor',
  title: 'Check a monitor now',
  description: 'Checks one monitor now and returns its status. Changes no setting.',
  input: z.object({ monitor: monitorField }),
  output: z.object({ as_of: z.string(), monitor: MonitorView }),
  what: ({ monitor }) => `a new check of ${shortened(monitor, 60)}`,
  account: ({ as_of, monitor }) => ({
    what: `a new check of ${shortened(monitor.name, 60)}`,
    found: `${shortened(monitor.status, 20)}, ${checkedWords(monitor, as_of)}`,
    page: pageOf(monitor),
  }),
  async run({ monitor: meant }, context) {
    const { monitoring, nowMs, signal } = context;
    const { id } = await monitorMeant(meant, context);
    const checked = await offered(
      'checks on request',
      monitoring.check(id, { signal, timeoutMs: CHECK_MS }),
    );
    return { as_of: isoTime(nowMs), monitor: monitorView(checked) };
  },
});
