import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { type Card, textCard } from '../shared/card.ts';
import { factsOf, KnownMonitor, knownMonitor, stillKnown, titleOf } from './known-monitor.ts';
import { offered } from './monitors.ts';
import { mayManage } from './pause-monitor.ts';
import { monitorField, writingTool } from './tool.ts';

/** No more of it, for good. */
export const removeMonitor = writingTool({
  name: 'remove_monitor',
  title: 'Remove a monitor',
  description: 'Deletes one monitor with its results and incidents.',
  right: mayManage('remove monitors'),
  isDestructive: true,
  input: z.object({ monitor: monitorField }),
  draft: z.object({ monitor: KnownMonitor }),
  prepare: async ({ monitor }, context) => ({ monitor: await knownMonitor(monitor, context) }),
  summary: ({ monitor }) => ({
    title: `Remove ${titleOf(monitor)} for good?`,
    facts: [...factsOf(monitor), { label: 'Also deleted', value: 'its results and incidents' }],
    confirm: 'Remove',
  }),
  async carryOut({ monitor }, context) {
    await stillKnown(monitor, context);
    return await remove(monitor, context.monitoring);
  },
});

/** Removes a monitor; resolves to the card that says so. */
export async function remove(
  known: Pick<KnownMonitor, 'id' | 'name'>,
  monitoring: MonitoringClient,
): Promise<Card> {
  // `offered` asks for something that is there, and a removal gives nothing.
  await offered(
    'removing monitors',
    monitoring.remove(known.id).then(() => true),
  );
  return textCard(
    'good',
    `${titleOf(known)} was removed`,
    'Its checks, results and incidents are deleted.',
  );
}
