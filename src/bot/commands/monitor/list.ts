import { z } from 'zod';
import type { Monitor } from '../../../contracts/monitoring.ts';
import {
  filterInWords,
  type MonitorFilter,
  matches,
  requireTags,
  tagsField,
} from '../../channels/monitor-filter.ts';
import { sortByUrgency } from '../../incidents/monitor-order.ts';
import {
  type Card,
  type CardAction,
  type CardPart,
  fittingActions,
  tablePart,
  textCard,
  textPart,
} from '../../shared/card.ts';
import { toAsker, toEveryone } from '../../shared/invocation.ts';
import { isDown, isPaused, isPending, isUp, NO_PING_YET } from '../../shared/status.ts';
import { shownTarget } from '../../shared/target-link.ts';
import { counted, shortened } from '../../shared/text-format.ts';
import { countByStatus, countsInWords, groupsByTag, upInWords } from '../../tools/read-model.ts';
import { command, optionalText } from '../command.ts';

/** Fits into a message on every platform. */
const MAX_ROWS = 20;
const MAX_GROUPS = 10;

const NARROW = 'Narrow it down: /monitor list <part of a name, target, or a status>';

export const monitorList = command({
  name: 'monitor list',
  summary: 'All monitors with their live status: DOWN first, paused last',
  group: 'watch',
  right: 'anyone',
  input: z.object({
    filter: optionalText(200, 'Only those with this text in name or target, or with this status'),
    tags: tagsField,
  }),
  examples: [
    '/monitor list',
    '/monitor list shop',
    '/monitor list down',
    '/monitor list tags=shop,eu',
  ],
  async run({ filter: text, tags }, { monitoring }) {
    const monitors = await monitoring.list();
    requireTags(tags, monitors);
    return toEveryone(listCard(monitors, { text, tags }));
  },
});

/** Another page, shown only to the person who pressed. */
export const listPage = command({
  name: 'monitor list page',
  summary: 'A page of the list of monitors',
  right: 'anyone',
  input: z.object({
    page: z.int().min(1).max(10_000).describe('Page number'),
    filter: optionalText(200, 'The list’s filter'),
    tags: tagsField,
  }),
  async run({ page, filter: text, tags }, { monitoring }) {
    return toAsker(listCard(await monitoring.list(), { text, tags }, page));
  },
});

/** One page of the list, or the last one if monitors have been removed in the meantime. Pure. */
function listCard(monitors: readonly Monitor[], filter: MonitorFilter, page = 1): Card {
  const { text, tags } = filter;
  const shown = monitors.filter(
    (monitor) =>
      matches(monitor, filter) ||
      (monitor.status.toLowerCase() === text?.toLowerCase() && matches(monitor, { tags })),
  );
  const ordered = sortByUrgency(shown);
  const some = filterInWords(filter);
  if (ordered.length === 0) {
    return textCard(
      'info',
      `No monitors${some}`,
      monitors.length === 0
        ? 'Add one: /monitor add https://example.com'
        : `To see ${monitors.length === 1 ? 'the one monitor' : `all ${monitors.length} monitors`}, use /monitor list.`,
    );
  }
  const pages = Math.ceil(ordered.length / MAX_ROWS);
  const at = Math.min(page, pages);
  const rows = ordered.slice((at - 1) * MAX_ROWS, at * MAX_ROWS).map(rowOf);
  const actions = pageActions(at, { pages, filter });
  return {
    tone: listTone(ordered),
    title: listTitle(ordered, { some, isGroup: tags !== undefined }),
    parts: [
      ...(at === 1 && some === '' ? groupsPart(monitors) : []),
      tablePart(['Status', 'Name', 'Kind', 'Target'], rows),
      ...(pages > 1 ? [textPart(`Page ${at} of ${pages}. ${NARROW}`)] : []),
    ],
    actions,
  };
}

function pageActions(
  at: number,
  { pages, filter }: { pages: number; filter: MonitorFilter },
): CardAction[] {
  const { text, tags } = filter;
  const to = (label: string, page: number): CardAction => ({
    label,
    command: listPage.name,
    values: {
      page: String(page),
      ...(text !== undefined && { filter: text }),
      ...(tags !== undefined && { tags: tags.join(',') }),
    },
  });
  return fittingActions(
    ...(at > 1 ? [to('Previous', at - 1)] : []),
    ...(at < pages ? [to('Next', at + 1)] : []),
  );
}

const rowOf = (monitor: Monitor) => [
  statusCell(monitor),
  shortened(monitor.name, 60),
  shortened(monitor.check_type, 20),
  shortened(shownTarget(monitor.target), 80),
];

function statusCell(monitor: Monitor): string {
  const status = shortened(monitor.status, 20);
  return monitor.waiting_for_first_ping && !isDown(monitor) ? `${status}, ${NO_PING_YET}` : status;
}

/** Paused and pending monitors don't count, unless all are. Pure. */
export function listTone(monitors: readonly Monitor[]): Card['tone'] {
  if (monitors.some(isDown)) return 'bad';
  const checked = monitors.filter((one) => !isPaused(one) && !isPending(one));
  if (checked.length === 0) return 'info';
  return checked.every(isUp) ? 'good' : 'warning';
}

/** `12 monitors: 2 DOWN, 9 UP, 1 PAUSED`, for a group `9 of 12 up, …`; `some` says which ones. Pure. */
export function listTitle(
  monitors: readonly Monitor[],
  { some = '', isGroup = false }: { some?: string; isGroup?: boolean } = {},
): string {
  const counts = isGroup ? upInWords(monitors) : countsInWords(countByStatus(monitors));
  return `${counted(monitors.length, 'monitor')}${some}: ${counts}`;
}

/** A line for each tag, the worst first: `eu: 3 of 4 up, 1 DOWN`. */
function groupsPart(monitors: readonly Monitor[]): CardPart[] {
  const groups = groupsByTag(monitors);
  if (groups.length === 0) return [];
  const lines = groups
    .slice(0, MAX_GROUPS)
    .map(({ tag, monitors: members }) => `${tag}: ${upInWords(members)}`);
  const more = groups.length - lines.length;
  return [textPart([...lines, ...(more > 0 ? [`and ${more} more tags`] : [])].join('\n'))];
}
