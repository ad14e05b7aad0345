import { z } from 'zod';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Fact } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';
import { findMonitor } from './monitors.ts';
import type { ToolContext } from './tool.ts';

/** A monitor as it was when a change of it was proposed. */
export const KnownMonitor = z.object({
  id: z.string(),
  name: z.string(),
  target: z.string(),
  status: z.string(),
});
export type KnownMonitor = z.infer<typeof KnownMonitor>;

/** The monitor that is meant, as it is now. Throws a `CommandError` when there is none, or there are several. */
export async function knownMonitor(
  meant: string,
  { monitoring, signal }: ToolContext,
): Promise<KnownMonitor> {
  const { id, name, target, status } = findMonitor(await monitoring.list({ signal }), meant);
  return { id, name, target, status };
}

/**
 * The monitor as it is now. Throws a `CommandError` when it is gone, or has another name or target by now: then it may not be
 * the one that somebody meant.
 */
export async function stillKnown(
  known: KnownMonitor,
  { monitoring, signal }: ToolContext,
): Promise<Monitor> {
  const now = (await monitoring.list({ signal })).find(({ id }) => id === known.id);
  if (!now) throw new CommandError(`${titleOf(known)} was already removed.`);
  if (now.name === known.name && now.target === known.target) return now;
  throw new CommandError(
    `${titleOf(known)} has changed since this was proposed. It is now ${titleOf(now)} (${shortened(shownTarget(now.target), 100)}). Ask again.`,
  );
}

export const titleOf = ({ name }: { name: string }) => shortened(name, 100);

/** What a card says of the monitor that is to be changed. */
export const factsOf = ({ target, status, id }: KnownMonitor): Fact[] => [
  { label: 'Target', value: shownTarget(target) },
  { label: 'Status', value: status },
  { label: 'Id', value: id },
];
