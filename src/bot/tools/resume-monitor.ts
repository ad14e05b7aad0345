import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { type Card, textCard } from '../shared/card.ts';
import { factsOf, KnownMonitor, knownMonitor, stillKnown, titleOf } from './known-monitor.ts';
import { offered } from './monitors.ts';
import { mayManage } from './pause-monitor.ts';
import { monitorField, writingTool } from './tool.ts';

/** Checks a paused monitor again. */
export const resumeMonitor = writingTool({
  name: 'resume_monitor',
  title: 'Resume a monitor',
  description: 'Has one monitor that is paused checked again.',
  right: mayManage('resume monitors'),
  input: z.object({ monitor: monitorField }),
  draft: z.object({ monitor: KnownMonitor }),
  prepare: async ({ monitor }, context) => ({ monitor: await knownMonitor(monitor, context) }),
  summary: ({ monitor }) => ({
    title: `Resume ${titleOf(monitor)}?`,
    facts: factsOf(monitor),
    confirm: 'Resume',
  }),
  async carryOut({ monitor }, context) {
    await stillKnown(monitor, context);
    return await resume(monitor, context.monitoring);
  },
});

/** Has a monitor checked again, and tells that. */
export async function resume(
  { id }: Pick<KnownMonitor, 'id'>,
  monitoring: MonitoringClient,
): Promise<Card> {
  const resumed = await offered('to resume monitors', monitoring.resume(id));
  return textCard('good', `${titleOf(resumed)} is checked again`, 'Its first check comes soon.');
}
