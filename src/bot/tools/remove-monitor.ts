import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { type Card, textCard } from '../shared/card.ts';
import { mayManage } from '../shared/rights.ts';
import { DraftMonitor, draftMonitor, factsOf, requireUnchanged, titleOf } from './known-monitor.ts';
import { offered } from './monitors.ts';
import { monitorField, writingTool } from './tool.ts';

export const removeMonitor = writingTool({
  name: 'remove_monitor',
  title: 'Remove a monitor',
  description: 'Deletes one monitor with its results and incidents.',
  right: mayManage('remove monitors'),
  isDestructive: true,
  input: z.object({ monitor: monitorField }),
  draft: z.object({ monitor: DraftMonitor }),
  prepare: async ({ monitor }, context) => ({ monitor: await draftMonitor(monitor, context) }),
  summary: ({ monitor }) => ({
    title: `Remove ${titleOf(monitor)} for good?`,
    facts: [...factsOf(monitor), { label: 'Also deleted', value: 'its results and incidents' }],
    confirm: 'Remove',
  }),
  async carryOut({ monitor }, context) {
    await requireUnchanged(monitor, context);
    return await remove(monitor, context.monitoring);
  },
});

export async function remove(
  monitor: Pick<DraftMonitor, 'id' | 'name'>,
  monitoring: MonitoringClient,
): Promise<Card> {
  // A removal resolves to nothing, which `offered` takes for not offered.
  await offered(
    'removing monitors',
    monitoring.remove(monitor.id).then(() => true),
  );
  return textCard(
    'good',
    `${titleOf(monitor)} was removed`,
    'Its checks, results and incidents are deleted.',
  );
}
