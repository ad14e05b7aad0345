import { z } from 'zod';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Fact } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';
import { monitorMeant } from './monitors.ts';
import type { ToolContext } from './tool.ts';

/** A monitor as it was when its change was proposed. */
export const DraftMonitor = z.object({
  id: z.string(),
  name: z.string(),
  target: z.string(),
  status: z.string(),
});
export type DraftMonitor = z.infer<typeof DraftMonitor>;

/** Finds a monitor for a draft. Throws a `CommandError` if none or several match. */
export async function draftMonitor(meant: string, context: ToolContext): Promise<DraftMonitor> {
  const { id, name, target, status } = await monitorMeant(meant, context);
  return { id, name, target, status };
}

/**
 * The monitor as it is now. Throws a `CommandError` if it was removed, or if its name or target changed: then it may not be the
 * one that the person confirmed.
 */
export async function requireUnchanged(
  draft: DraftMonitor,
  { monitoring, signal }: ToolContext,
): Promise<Monitor> {
  const now = (await monitoring.list({ signal })).find(({ id }) => id === draft.id);
  if (!now) throw new CommandError(`${titleOf(draft)} was already removed.`);
  if (now.name === draft.name && now.target === draft.target) return now;
  throw new CommandError(
    `${titleOf(draft)} has changed since this was proposed. It is now ${titleOf(now)} (${shortened(shownTarget(now.target), 100)}). Ask again.`,
  );
}

export const titleOf = ({ name }: { name: string }) => shortened(name, 100);

/** The monitor on a confirmation card. */
export const factsOf = ({ target, status, id }: DraftMonitor): Fact[] => [
  { label: 'Target', value: shownTarget(target) },
  { label: 'Status', value: status },
  { label: 'Id', value: id },
];
