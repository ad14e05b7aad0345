import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { mayManage } from '../shared/rights.ts';
import { isPaused } from '../shared/status.ts';
import { DraftMonitor, draftMonitor, factsOf, requireUnchanged, titleOf } from './known-monitor.ts';
import { offered } from './monitors.ts';
import { monitorField, writingTool } from './tool.ts';

export const resumeMonitor = writingTool({
  name: 'resume_monitor',
  title: 'Resume a monitor',
  description: 'Resumes the checks of one paused monitor.',
  right: mayManage('resume monitors'),
  input: z.object({ monitor: monitorField }),
  draft: z.object({ monitor: DraftMonitor }),
  async prepare({ monitor }, context) {
    const draft = await draftMonitor(monitor, context);
    refuseUnlessPaused(draft);
    return { monitor: draft };
  },
  summary: ({ monitor }) => ({
    title: `Resume ${titleOf(monitor)}?`,
    facts: factsOf(monitor),
    confirm: 'Resume',
  }),
  async carryOut({ monitor }, context) {
    await requireUnchanged(monitor, context);
    return await resume(monitor, context.monitoring);
  },
});

export function refuseUnlessPaused(monitor: Pick<DraftMonitor, 'name' | 'status'>): void {
  if (isPaused(monitor)) return;
  throw new CommandError(`${titleOf(monitor)} isn't paused. It is ${monitor.status} now.`);
}

export async function resume(
  { id }: Pick<DraftMonitor, 'id'>,
  monitoring: MonitoringClient,
): Promise<Card> {
  const resumed = await offered('resuming monitors', monitoring.resume(id));
  return textCard(
    'good',
    `${titleOf(resumed)} resumed`,
    resumed.check_type === 'HEARTBEAT'
      ? 'Waiting for its next ping.'
      : 'The first check runs in a few seconds.',
  );
}
