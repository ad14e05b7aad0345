import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { MAX_WINDOWS } from '../../contracts/monitoring-additions.ts';
import { type Card, type CardAction, fittingActions, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { mayManage } from '../shared/rights.ts';
import { isPaused } from '../shared/status.ts';
import { inWords, shortened } from '../shared/text-format.ts';
import { DraftMonitor, draftMonitor, factsOf, requireUnchanged, titleOf } from './known-monitor.ts';
import { offered } from './monitors.ts';
import { momentOf } from './time-span.ts';
import { isoTime, monitorField, type WriteContext, writingTool } from './tool.ts';

const MAX_DAYS = 30;
const MAX_MS = MAX_DAYS * 86_400_000;

export const pauseMonitor = writingTool({
  name: 'pause_monitor',
  title: 'Pause a monitor',
  description:
    'Pauses the checks of one monitor until someone resumes it. With "until", plans maintenance until then instead: checks continue, no alerts are sent.',
  right: mayManage('pause monitors'),
  input: z.object({
    monitor: monitorField,
    until: z.string().max(40).optional().describe('Such as 2026-11-20T18:00Z.'),
  }),
  draft: z.object({
    monitor: DraftMonitor,
    /** Time of the proposal, so that every try plans the same window. */
    fromMs: z.number(),
    untilMs: z.number().optional(),
  }),
  async prepare({ monitor, until }, context) {
    const untilMs = until === undefined ? undefined : endOf(until, context.nowMs);
    const draft = await draftMonitor(monitor, context);
    refuseIfPaused(draft);
    return { monitor: draft, fromMs: context.nowMs, untilMs };
  },
  summary: ({ monitor, untilMs }) => ({
    title: `${untilMs === undefined ? 'Pause' : 'Silence alerts for'} ${titleOf(monitor)}?`,
    facts: [
      ...factsOf(monitor),
      untilMs === undefined
        ? { label: 'Until', value: 'someone resumes it; no checks or alerts' }
        : { label: 'Until', value: { atMs: untilMs } },
    ],
    confirm: untilMs === undefined ? 'Pause' : 'Silence',
  }),
  async carryOut({ monitor, fromMs, untilMs }, context) {
    await requireUnchanged(monitor, context);
    if (untilMs === undefined) return await pause(monitor, context.monitoring);
    if (untilMs <= context.nowMs) throw new CommandError('That time has passed. Ask again.');
    return await silence({ monitor, fromMs, untilMs }, context);
  },
});

function endOf(until: string, nowMs: number): number {
  const ms = momentOf('until', until);
  if (ms <= nowMs) {
    throw new CommandError(`"until" must be in the future; now it is ${isoTime(nowMs)}.`);
  }
  if (ms - nowMs > MAX_MS) {
    throw new CommandError(
      `"until" must be within ${MAX_DAYS} days. To pause for longer, leave "until" out.`,
    );
  }
  return ms;
}

export function refuseIfPaused(monitor: Pick<DraftMonitor, 'name' | 'status'>): void {
  if (isPaused(monitor)) throw new CommandError(`${titleOf(monitor)} is already paused.`);
}

export const WHILE_PAUSED = 'No checks or alerts until someone resumes it.';

export async function pause(
  { id }: Pick<DraftMonitor, 'id'>,
  monitoring: MonitoringClient,
): Promise<Card> {
  const paused = await offered('pausing monitors', monitoring.pause(id));
  return {
    ...textCard('good', `${titleOf(paused)} is paused`, WHILE_PAUSED),
    actions: resumeAction(paused),
  };
}

/** Empty if the monitor's id is too long for a button. */
export const resumeAction = ({ id }: Pick<DraftMonitor, 'id'>): CardAction[] =>
  fittingActions({ label: 'Resume', command: 'monitor resume', values: { monitor: id } });

async function silence(
  { monitor, fromMs, untilMs }: { monitor: DraftMonitor; fromMs: number; untilMs: number },
  { monitoring, nowMs, person }: WriteContext,
): Promise<Card> {
  const window = {
    starts_at: isoTime(fromMs),
    ends_at: isoTime(untilMs),
    reason: `Requested by ${shortened(person.name, 80)}`,
  };
  const became = await offered(
    'maintenance',
    monitoring.planMaintenance({ monitors: [monitor.id], window }),
  );
  const name = titleOf(monitor);
  if (became.full.length > 0) {
    throw new CommandError(
      `${name} already has ${MAX_WINDOWS} maintenance windows. Remove them first: /monitor maintenance <monitor> off`,
    );
  }
  if (became.declared.length > 0) {
    throw new CommandError(`A file sets the maintenance of ${name}. Change it there.`);
  }
  if (became.planned.length === 0) throw new CommandError(`${name} was already removed.`);
  return textCard(
    'good',
    `Alerts for ${name} are silenced for ${inWords(untilMs - nowMs)}`,
    'It is in maintenance until then. Checks keep running.',
  );
}
