import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { isPaused } from '../shared/status.ts';
import { factsOf, KnownMonitor, knownMonitor, stillKnown, titleOf } from './known-monitor.ts';
import { offered } from './monitors.ts';
import { mayManage } from './pause-monitor.ts';
import { monitorField, writingTool } from './tool.ts';

/** Starts the checks of a paused monitor again. */
export const resumeMonitor = writingTool({
  name: 'resume_monitor',
  title: 'Resume a monitor',
  description: 'Resumes the checks of one paused monitor.',
  right: mayManage('resume monitors'),
  input: z.object({ monitor: monitorField }),
  draft: z.object({ monitor: KnownMonitor }),
  async prepare({ monitor }, context) {
    const known = await knownMonitor(monitor, context);
    refuseUnlessPaused(known);
    return { monitor: known };
  },
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

/** Throws a `CommandError` for a monitor that isn't paused. */
export function refuseUnlessPaused(monitor: Pick<KnownMonitor, 'name' | 'status'>): void {
  if (isPaused(monitor)) return;
  throw new CommandError(`${titleOf(monitor)} isn't paused. It is ${monitor.status} now.`);
}

/** Starts the checks of a monitor again; resolves to the card that says so. */
export async function resume(
  { id }: Pick<KnownMonitor, 'id'>,
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
