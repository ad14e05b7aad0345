import { z } from 'zod';
import { TypedTags } from '../../contracts/monitoring.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';

/** Chooses monitors with a text in name or target, and with any of the tags. An absent part chooses all. */
export const MonitorFilter = z.object({
  text: z.string().optional(),
  tags: z.array(z.string()).optional(),
});
export type MonitorFilter = z.infer<typeof MonitorFilter>;

/** The input `tags` of commands and tools that choose monitors. */
export const tagsField = TypedTags.transform((tags) => (tags.length > 0 ? tags : undefined))
  .optional()
  .describe('Only monitors with any of these tags, such as shop,eu');

/** Tags that an error names. */
const MAX_NAMED = 20;

interface FilteredMonitor {
  name: string;
  target?: string;
  tags?: readonly string[];
}

/** Ignores case. Pure. */
export function matches(
  { name, target = '', tags = [] }: FilteredMonitor,
  { text = '', tags: wanted = [] }: MonitorFilter,
): boolean {
  const part = text.toLowerCase();
  const hasText = name.toLowerCase().includes(part) || target.toLowerCase().includes(part);
  return hasText && (wanted.length === 0 || wanted.some((tag) => tags.includes(tag)));
}

/** ` tagged eu or shop`; empty without tags. Pure. */
export const taggedInWords = (tags: readonly string[] = []) =>
  tags.length === 0 ? '' : ` tagged ${OR.format(tags)}`;

/** ` with “shop” tagged eu`; empty without a filter. Pure. */
export const filterInWords = ({ text, tags }: MonitorFilter) =>
  (text === undefined ? '' : ` with “${shortened(text, 60)}”`) + taggedInWords(tags);

const OR = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** All tags, each once, sorted. Pure. */
export const tagsOf = (monitors: ReadonlyArray<Pick<FilteredMonitor, 'tags'>>) =>
  [...new Set(monitors.flatMap(({ tags = [] }) => tags))].sort();

/** Throws a `CommandError` for a tag that no monitor has, because it is probably a typo. */
export function requireTags(
  tags: readonly string[] = [],
  monitors: ReadonlyArray<Pick<FilteredMonitor, 'tags'>>,
): void {
  const known = tagsOf(monitors);
  const unknown = tags.find((tag) => !known.includes(tag));
  if (unknown === undefined) return;
  const more = known.length > MAX_NAMED ? ` and ${known.length - MAX_NAMED} more` : '';
  throw new CommandError(
    known.length === 0
      ? `No monitor is tagged ${unknown}: there are no tags yet. Add one with a monitor: /monitor add https://example.com tags=${unknown}`
      : `No monitor is tagged ${unknown}. Tags: ${known.slice(0, MAX_NAMED).join(', ')}${more}.`,
  );
}
