import { inWords } from '../../../contracts/duration.ts';
import type { PlannedWindow } from '../../../contracts/monitoring-additions.ts';
import { bold, plain } from '../../shared/inert-markdown.ts';
import { isPaused, isUp } from '../../shared/status.ts';
import { counted, inUnits } from '../../shared/text-format.ts';
import { MAX_PLANNED, type MonitorsFound } from '../../tools/list-monitors.ts';
import type { MonitorView } from '../../tools/read-model.ts';
import { has, type ParsedQuestion } from '../find.ts';
import type { NamedSubject } from '../names.ts';
import {
  are,
  capital,
  causeText,
  expiryText,
  isKept,
  look,
  MAX_ROWS,
  monitorRow,
  type Overview,
  sinceText,
  taggedText,
  tagsInput,
  timeText,
  type View,
  type ViewContext,
  viewOf,
  windowText,
  withoutText,
  withRows,
  yesOrNo,
} from './view.ts';

/** The most that the tool lists. */
const MAX_LISTED = 50;
const DAY_MS = 86_400_000;

const NO_MONITORS = 'There are no monitors yet. Add one with `/monitor add https://example.com`.';

const listView = (
  found: ParsedQuestion | undefined,
  input: object,
  write: (list: MonitorsFound) => string,
): View => {
  const tags = found && tagsInput(found);
  return viewOf<MonitorsFound>(
    look('list_monitors', { limit: MAX_ROWS, ...input, ...tags }),
    (list) => (list.total === 0 && !list.reported_alerts ? NO_MONITORS : write(list)),
  );
};

/** ` monitor tagged eu`; nothing if the question names no tag. */
const ofTags = (found: ParsedQuestion) => (found.tags ? ` monitor${taggedText(found)}` : '');

/** `4 monitors tagged eu` */
const allText = (found: ParsedQuestion, total: number) =>
  counted(total, 'monitor') + taggedText(found);

/** `2 DOWN, 195 UP`. */
const countsText = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([status, count]) => `${count} ${plain(status, 20)}`)
    .join(', ');

const alertRow = ({ name, status, since, summary }: FiringAlert, nowMs: number) =>
  `${bold(name)}: ${plain(status, 20)}${sinceText(since, nowMs)}${causeText(summary)}`;
type FiringAlert = NonNullable<MonitorsFound['reported_alerts']>['alerts'][number];

/** Rows and a sentence about alerts from other systems in this channel. */
function firingAlerts({ reported_alerts: reported }: MonitorsFound, nowMs: number) {
  const { total = 0, alerts = [] } = reported ?? {};
  const text = ` ${counted(total, 'alert')} from other systems ${are(total)} firing.`;
  const rows = alerts.map((one) => alertRow(one, nowMs));
  return { total, rows, text: total > 0 ? text : '' };
}

const NOT_UP = 'not up';

/** Monitors in one state now. */
function inState(input: object, words: string, isIt?: (monitor: MonitorView) => boolean): Overview {
  return (found, { nowMs }) =>
    listView(found, { ...input, ...(found.without && { limit: MAX_LISTED }) }, (list) => {
      const shown = list.monitors.filter((one) => (isIt?.(one) ?? true) && isKept(found, one.name));
      const isFiltered = isIt !== undefined || found.without !== undefined;
      const count = isFiltered ? shown.length : list.matching;
      const least = isFiltered && list.matching > list.monitors.length ? 'at least ' : '';
      const firing = firingAlerts(list, nowMs);
      const all = allText(found, list.total);
      const none =
        list.total === 1 ? `the only monitor${taggedText(found)} isn't` : `none of ${all} is`;
      const state = count === 0 && !least ? none : `${least}${count} of ${all} ${are(count)}`;
      const isTrue = count + firing.total > 0 !== (words === NOT_UP && has(found, 'ok', 'up'));
      const sentence = capital(`${yesOrNo(found, isTrue)}${state} ${words}${withoutText(found)}.`);
      const rows = [...shown.map((one) => monitorRow(one, nowMs)), ...firing.rows];
      return withRows(sentence + firing.text, rows, count + firing.total);
    });
}

const SILENCED = { status: 'paused_or_maintenance', limit: MAX_LISTED };

export const down = inState({ status: 'down' }, 'down');
export const degraded = inState({ status: 'degraded' }, 'degraded');
export const flapping = inState({ flapping: true }, 'flapping');
export const paused = inState(SILENCED, 'paused', isPaused);
const isInMaintenance = (monitor: MonitorView) => !isPaused(monitor);

/** Maintenance that is under way, with its ends, and planned maintenance. */
export const maintenance: Overview = (found, context) => {
  const isAhead = has(found, 'tomorrow', 'next', 'future') || (found.span && !has(found, 'past'));
  // A question about later gets no “yes” about now.
  const concepts = isAhead ? new Set([...found.concepts, 'future' as const]) : found.concepts;
  const view = inState(
    SILENCED,
    'in maintenance',
    isInMaintenance,
  )({ ...found, concepts }, context);
  return {
    ...view,
    write(list) {
      const windows = (list as MonitorsFound).planned_maintenance;
      if (!windows) return view.write(list);
      const isActive = ({ starts_at }: PlannedWindow) => Date.parse(starts_at) <= context.nowMs;
      const rowOf = (one: PlannedWindow) => `${bold(one.name)} ${windowText(one, context.nowMs)}`;
      const active = windows.filter(isActive).map((one) => `${rowOf(one)}.`);
      const coming = windows.filter((one) => !isActive(one)).map(rowOf);
      // Windows under way may fill the list.
      const isCut = windows.length >= MAX_PLANNED;
      const planned = withRows(
        coming.length > 0 ? 'Planned:' : isCut ? MORE_PLANNED : NOTHING_PLANNED,
        coming,
      );
      const now = [view.write(list), ...active];
      return (isAhead ? [planned, ...now] : [...now, planned]).join('\n\n');
    },
  };
};

const MORE_PLANNED =
  'I see only a part of the planned maintenance. `/monitor show` shows it for one monitor.';
const NOTHING_PLANNED = 'No maintenance is planned to begin in the next 31 days.';

export const silenced = inState(SILENCED, 'paused or in maintenance');

export const notUp = inState({ status: 'not_up' }, NOT_UP);

/** Everything that isn't up. */
export const overall: Overview = (found, { nowMs }) =>
  listView(found, { status: 'not_up' }, (list) => {
    const { total, matching, monitors, by_status } = list;
    const firing = firingAlerts(list, nowMs);
    if (total + firing.total === 0) return NO_MONITORS;
    const isOk = matching + firing.total === 0;
    const answer = has(found, 'ok', 'up') ? yesOrNo(found, isOk) : '';
    const only = `the only monitor${taggedText(found)} is`;
    const all = total === 1 ? only : `all ${allText(found, total)} are`;
    if (isOk) return capital(`${answer}${all} up.`);
    const counts = `${matching} of ${allText(found, total)} ${are(matching)} not up`;
    const sentence = `${answer}${counts} (${countsText(by_status)}).${firing.text}`;
    const rows = [...monitors.map((one) => monitorRow(one, nowMs)), ...firing.rows];
    return withRows(sentence, rows, matching + firing.total);
  });

export const up: Overview = (found) =>
  listView(found, { status: 'up' }, ({ total, matching }) => {
    return `${matching} of ${allText(found, total)} ${are(matching)} up.`;
  });

/** The number of monitors, and a list of them. */
export const counts: Overview = (found, { nowMs }) => {
  const type = found.type?.toUpperCase();
  return listView(
    found,
    { check_type: type, sort: 'name' },
    ({ matching, monitors, by_status }) => {
      const noun = type === undefined ? 'monitor' : `${type} monitor`;
      const by = type === undefined ? ` (${countsText(by_status)})` : '';
      const sentence = `There ${are(matching)} ${counted(matching, noun)}${taggedText(found)}${by}.`;
      if (has(found, 'howMany')) return sentence;
      return withRows(
        sentence,
        monitors.map((one) => monitorRow(one, nowMs)),
        matching,
      );
    },
  );
};

/** Monitors of one type, or with a text in their name or target; the ones that aren't up first. */
export const group: Overview = (found, { nowMs }) => {
  const { group: text = '' } = found;
  const isType = text === found.type;
  const input = isType ? { check_type: text.toUpperCase() } : { text };
  const [status, that] = has(found, 'down') ? ['down', ' that is down'] : [undefined, ''];
  return listView(
    found,
    { ...input, status, limit: MAX_LISTED },
    ({ total, matching, monitors }) => {
      const type = `${text.toUpperCase()} monitor`;
      const where = `“${plain(text)}” in the name or target`;
      if (matching === 0)
        return isType ? `There is no ${type}${that}.` : `No monitor${that} has ${where}.`;
      const bad = monitors.filter((one) => !isUp(one)).length;
      const isTrue = has(found, 'down') ? bad > 0 : bad === 0;
      const answer = has(found, 'ok', 'up', 'down') ? yesOrNo(found, isTrue) : '';
      const state = bad === 0 ? 'all up' : `${bad === MAX_LISTED ? 'at least ' : ''}${bad} not up`;
      const rows = monitors.map((one) => monitorRow(one, nowMs));
      const have = matching === 1 ? 'has' : 'have';
      const count = isType
        ? counted(matching, type)
        : `${matching} of ${counted(total, 'monitor')} ${have} ${where}`;
      return withRows(`${answer}${count}, ${state}.`, rows, matching);
    },
  );
};

export const slowest: Overview = (found) =>
  listView(found, { sort: 'slowest' }, ({ monitors }) => {
    const { count = MAX_ROWS, span } = found;
    const rows = monitors.flatMap(({ name, response_time_ms: ms }) =>
      ms === undefined
        ? []
        : [`${bold(name)}: ${inUnits(ms).replace('<', '\\<')} in its last check`],
    );
    const [first] = rows;
    if (first === undefined) return 'No monitor has a response time yet.';
    const lead = span ? 'I can compare only the last checks. ' : '';
    return withRows(`${lead}The slowest${ofTags(found)} is ${first}.`, rows.slice(0, count));
  });

/** Certificates that expire soon, or the next one. */
export const certificates: Overview = (found, { nowMs }) =>
  listView(found, { sort: 'certificate' }, ({ monitors }) => {
    const { aheadMs = 30 * DAY_MS } = found;
    const row = ({ name, certificate_ends_at: ends = '' }: MonitorView) =>
      `${bold(name)} ${expiryText(ends, nowMs)}`;
    const [next] = monitors;
    if (!next) return 'Askwatch has seen no certificate yet.';
    const soon = monitors.filter(
      ({ certificate_ends_at: ends = '' }) => Date.parse(ends) < nowMs + aheadMs,
    );
    const within = `within ${inWords(aheadMs)}`;
    if (soon.length === 0) return `No certificate expires ${within}. The next is ${row(next)}.`;
    const count = `${soon.length === MAX_ROWS ? 'At least ' : ''}${counted(soon.length, 'certificate')}`;
    return withRows(
      `${count} ${soon.length === 1 ? 'expires' : 'expire'} ${within}.`,
      soon.map(row),
    );
  });

export const newest: Overview = (found, { nowMs }) =>
  listView(found, { sort: 'newest' }, ({ monitors }) => {
    const rows = monitors.map(
      ({ name, created_at: at = '' }) => `${bold(name)}, added ${timeText(at, nowMs)}`,
    );
    const [first] = rows;
    if (first === undefined) return NO_MONITORS;
    return withRows(`The newest${ofTags(found)} is ${first}.`, rows.slice(0, found.count));
  });

/** The last changes of statuses. */
export const changes: Overview = (found, { nowMs }) =>
  listView(found, { sort: 'latest_change', limit: MAX_LISTED }, ({ monitors }) => {
    const { span } = found;
    const fromMs = span?.fromMs ?? 0;
    const rows = monitors
      .filter(({ since = '' }) => Date.parse(since) >= fromMs)
      .map((one) => monitorRow(one, nowMs));
    const [first] = rows;
    if (first === undefined)
      return `No monitor has changed its status${span ? ' since then' : ''}.`;
    return withRows(`The last change: ${first}.`, rows.slice(0, MAX_ROWS));
  });

/** Jobs that ping Askwatch. */
export const jobs: Overview = (found, { nowMs }) =>
  listView(found, { check_type: 'HEARTBEAT' }, ({ matching, monitors }) => {
    const late = monitors.filter((one) => !isUp(one));
    const all = counted(matching, 'job');
    const state =
      late.length === 0
        ? `all ${all} are on time`
        : `${late.length} of ${all} ${are(late.length)} not on time`;
    return withRows(
      capital(`${yesOrNo(found, late.length === 0)}${state}.`),
      late.map((one) => monitorRow(one, nowMs)),
    );
  });

/** One firing alert from another system. */
export const alertView = ({ name }: NamedSubject, { nowMs }: ViewContext): View =>
  listView(
    undefined,
    { text: name.slice(0, 200), limit: MAX_LISTED },
    ({ reported_alerts: reported }) => {
      const alert = reported?.alerts.find((one) => one.name === name);
      if (!alert) return `${bold(name)} is no longer firing.`;
      const by = alert.reported_by === undefined ? [] : [`Reported by ${plain(alert.reported_by)}`];
      const who = alert.acknowledged_by;
      return withRows(`${alertRow(alert, nowMs)}.`, [
        ...by,
        ...(alert.facts ?? []).map((fact) => plain(fact, 200)),
        ...(who === undefined ? [] : [`Acknowledged by ${plain(who)}`]),
      ]);
    },
  );
