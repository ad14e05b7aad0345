import { bold, plain } from '../../shared/inert-markdown.ts';
import { counted } from '../../shared/text-format.ts';
import { has, type ParsedQuestion } from '../find.ts';
import type { Concept } from '../languages/vocabulary.ts';
import { incidents, uptimeOfAll } from './incident-lists.ts';
import * as lists from './monitor-lists.ts';
import {
  look,
  type Overview,
  timeText,
  type View,
  type ViewContext,
  viewOf,
  withRows,
} from './view.ts';

/** At most two overviews, for two topics. */
export function overviewsOf(found: ParsedQuestion, context: ViewContext): View[] {
  return chosen(found)
    .slice(0, 2)
    .map((overview) => overview(found, context));
}

/** The overviews of the topics that were asked for, the most special first. */
function chosen(found: ParsedQuestion): Overview[] {
  const asks = (...some: Concept[]) => has(found, ...some);
  const isLast = asks('last') && asks('incident', 'down');
  const isPast = found.span !== undefined || asks('past', 'latest') || isLast;
  const isOfOutages = isPast || asks('incident', 'downtime', 'longest');
  if (found.group !== undefined && (!isOfOutages || asks('change'))) return [lists.group];
  if (found.group !== undefined) return [incidents];
  if (asks('here') && !asks('usage', 'down', 'incident')) return [channelAlerts];
  if (asks('usage')) return [usage];
  if (found.without !== undefined)
    return [
      isPast || asks('incident')
        ? incidents
        : asks('ok', 'up', 'status')
          ? lists.notUp
          : lists.down,
    ];
  const all: Overview[] = [];
  if (asks('certificate') && !asks('howMany')) all.push(lists.certificates);
  if (asks('slow', 'response')) all.push(lists.slowest);
  if (asks('newest')) all.push(lists.newest);
  if (asks('uptime')) all.push(uptimeOfAll);
  if (asks('paused') && asks('maintenance')) all.push(lists.silenced);
  else if (asks('paused')) all.push(lists.paused);
  else if (asks('maintenance')) all.push(lists.maintenance);
  if (asks('flapping')) all.push(lists.flapping);
  if (asks('degraded')) all.push(lists.degraded);
  if (asks('change')) all.push(lists.changes);
  const isOfJobs = asks('run') && (asks('technical') || !asks('ok'));
  const heartbeats = { ...found, group: 'heartbeat', type: 'heartbeat' };
  if (isOfJobs) return [isPast ? (_, context) => incidents(heartbeats, context) : lists.jobs];
  const isOk = asks('ok') && !asks('certificate');
  const isOfState =
    isOk || asks('down', 'incident', 'alert', 'downtime', 'up', 'status', 'longest');
  if (isOfState) all.push(ofState(found, isPast));
  if (all.length > 0) return all;
  const isOfPast = found.span !== undefined && asks('past', 'all');
  if (isOfPast || (isPast && asks('worst', 'most', 'why', 'latest'))) return [incidents];
  if (asks('why')) return [lists.down];
  if (found.tags) return [asks('howMany', 'which', 'all') ? lists.counts : lists.overall];
  return asks('howMany', 'which', 'all') && asks('service', 'technical') ? [lists.counts] : [];
}

function ofState(found: ParsedQuestion, isPast: boolean): Overview {
  const asks = (...some: Concept[]) => has(found, ...some);
  if (isPast || asks('longest')) return incidents;
  if (asks('incident', 'downtime') && !asks('now', 'down')) return incidents;
  if (asks('down') && asks('not') && !asks('all')) return lists.up;
  if (asks('down', 'incident', 'alert', 'downtime')) return lists.down;
  return asks('up') && asks('howMany', 'which') && !asks('not', 'all') ? lists.up : lists.overall;
}

const channelAlerts: Overview = () =>
  viewOf<{ hears: string }>(look('get_channel_alerts'), ({ hears }) => plain(hears, 2_000));

interface UsageShown {
  from: string;
  answers: number;
  tokens: number;
  by_person: Array<{ name: string; answers: number; tokens: number }>;
}

const MAX_USAGE_DAYS = 90;
const DAY_MS = 86_400_000;

const usage: Overview = ({ span }, { nowMs }) => {
  const days = span && Math.min(MAX_USAGE_DAYS, Math.ceil((nowMs - span.fromMs) / DAY_MS));
  const spent = ({ answers, tokens }: { answers: number; tokens: number }) =>
    `${counted(answers, 'answer')}, ${tokens.toLocaleString('en')} tokens`;
  return viewOf<UsageShown>(look('get_usage', { days }), (shown) =>
    withRows(
      `In this channel since ${timeText(shown.from, nowMs)}: ${spent(shown)}.`,
      shown.by_person.map((one) => `${bold(one.name)}: ${spent(one)}`),
    ),
  );
};
