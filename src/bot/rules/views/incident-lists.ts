import { inWords } from '../../../contracts/duration.ts';
import { bold, plain } from '../../shared/inert-markdown.ts';
import { counted } from '../../shared/text-format.ts';
import type { UptimeShown } from '../../tools/get-uptime.ts';
import type { FoundIncident, IncidentsFound } from '../../tools/list-incidents.ts';
import type { MonitorsFound } from '../../tools/list-monitors.ts';
import { has, type ParsedQuestion } from '../find.ts';
import { spanInWords } from '../spans.ts';
import { folded } from '../words.ts';
import {
  causeText,
  incidentText,
  isKept,
  look,
  MAX_ROWS,
  type Overview,
  spanInput,
  taggedText,
  tagsInput,
  timeText,
  type ViewContext,
  viewOf,
  withoutText,
  withRows,
  yesOrNo,
} from './view.ts';

const MAX_INCIDENTS = 100;
const MAX_MONITORS = 50;
const DAY_MS = 86_400_000;
/** The service keeps the uptime of days so long. */
const UPTIME_KEPT_MS = 90 * DAY_MS;

/** Times back from now, where a question names none. */
const STANDARD_SPAN = '7d';
const BACK_IN_WORDS = { '24h': '24 hours', '7d': '7 days', '400d': '400 days' };

/** Outages of all monitors in a time. */
export const incidents: Overview = (found, context) => {
  const { span } = found;
  const isLatest = !span && has(found, 'latest', 'last', 'when');
  const isRecent = has(found, 'past') && !has(found, 'incident');
  const back = isLatest ? '400d' : isRecent ? '24h' : STANDARD_SPAN;
  const isOfDown = has(found, 'down', 'incident', 'downtime');
  const isNegated = isOfDown && has(found, 'not') && has(found, 'which', 'howMany');
  const lengthMs = span ? span.toMs - span.fromMs : 0;
  const before = found.compared ?? (span && { fromMs: span.fromMs - lengthMs, toMs: span.fromMs });
  const isCompared = before !== undefined && has(found, 'compare');
  // Monitors that there are now may not have been watched then.
  const { nowMs } = context;
  const mayBeUnseen =
    span !== undefined && span.toMs < nowMs - DAY_MS && span.fromMs > nowMs - UPTIME_KEPT_MS;
  const isTyped = found.group !== undefined && found.group === found.type;
  const type = isTyped ? found.type?.toUpperCase() : undefined;
  const text = isTyped ? undefined : found.group;
  const tags = tagsInput(found);
  const filter = { check_type: type, text, sort: 'name', limit: MAX_MONITORS, ...tags };
  const input = { ...spanInput(span, back), ...tags };
  return {
    lookups: [
      look('list_incidents', { ...input, limit: MAX_INCIDENTS }),
      ...(isNegated || isTyped ? [look('list_monitors', filter)] : []),
      ...(isCompared
        ? [look('list_incidents', { ...spanInput(before, back), limit: 1, ...tags })]
        : []),
      ...(mayBeUnseen ? [look('get_uptime', { ...input, limit: 1 })] : []),
    ],
    write(list, ...others) {
      const [other] = others;
      const seen = mayBeUnseen ? (others.at(-1) as UptimeShown | undefined) : undefined;
      const time = span ? spanInWords(span, context) : `in the last ${BACK_IN_WORDS[back]}`;
      const among = found.group
        ? ` among “${plain(found.group)}” monitors`
        : found.tags
          ? ` among monitors${taggedText(found)}`
          : '';
      const when = time + among + withoutText(found);
      const isIn = isTyped
        ? namedIn(other as MonitorsFound | undefined)
        : ({ monitor }: OfMonitor) =>
            folded(monitor).includes(found.group ?? '') && isKept(found, monitor);
      if (seen && seen.uptime_percent === undefined)
        return `Nothing was checked ${when}, so its incidents are unknown.`;
      const writer = new IncidentsText(onlyOf(list as IncidentsFound, isIn), when, context);
      if (isNegated && other) return writer.notDown(other as MonitorsFound);
      if (isLatest) return writer.latest();
      if (isCompared && other) {
        const than = found.compared
          ? spanInWords(found.compared, context)
          : 'in the same time before';
        return writer.compared((other as IncidentsFound).total, than);
      }
      return writer.of(found);
    },
  };
};

interface OfMonitor {
  monitor: string;
}

function namedIn(list: MonitorsFound | undefined): (one: OfMonitor) => boolean {
  const names = new Set(list?.monitors.map(({ name }) => name));
  return ({ monitor }) => names.has(monitor);
}

/** Only the incidents of some monitors. */
function onlyOf(list: IncidentsFound, isIn: (one: OfMonitor) => boolean): IncidentsFound {
  const own = list.incidents.filter(isIn);
  if (own.length === list.incidents.length) return list;
  const complete = list.complete && list.incidents.length === list.total;
  const by_monitor = list.by_monitor.filter(isIn);
  return { ...list, complete, incidents: own, total: own.length, by_monitor };
}

class IncidentsText {
  private readonly list: IncidentsFound;
  private readonly when: string;
  private readonly nowMs: number;
  /** Names of the monitors that were down. */
  private readonly names: ReadonlySet<string>;

  constructor(list: IncidentsFound, when: string, { nowMs }: ViewContext) {
    this.list = list;
    this.when = when;
    this.nowMs = nowMs;
    this.names = new Set(list.incidents.map(({ monitor }) => monitor));
  }

  of(found: ParsedQuestion): string {
    const { total, incidents: newest } = this.list;
    const isOfUp = has(found, 'ok', 'up', 'run');
    const isAsked = has(found, 'all', 'past') && !has(found, 'most', 'worst', 'longest');
    const answer = isAsked ? yesOrNo(found, isOfUp === (total === 0)) : '';
    const { alerts } = this;
    if (total === 0) {
      const also =
        alerts.length > 0 ? ` ${counted(alerts.length, 'alert')} from other systems fired.` : '';
      return withRows(
        `${answer}${answer ? 'n' : 'N'}o monitor was down ${this.when}.${also}`,
        alerts,
      );
    }
    const isByTime = has(found, 'downtime') && has(found, 'most', 'worst', 'longest', 'which');
    if (isByTime || (has(found, 'most', 'worst') && !has(found, 'longest')))
      return this.most(found);
    if (has(found, 'longest')) return this.longest();
    if (has(found, 'incident', 'alert') || newest.length < total) {
      const rows = [...newest.map((one) => this.row(one)), ...alerts];
      return withRows(`${answer}${this.count} ${this.when}.`, rows, total + alerts.length);
    }
    const { size } = this.names;
    const sentence = `${answer}${counted(size, 'monitor')} ${size === 1 ? 'was' : 'were'} down ${this.when}.`;
    return withRows(sentence, this.rowsByMonitor(), size);
  }

  latest(): string {
    const [newest] = this.list.incidents;
    if (!newest) return `No monitor was down ${this.when}.`;
    return `The latest incident: ${this.row(newest)}.`;
  }

  notDown({ matching: total, monitors }: MonitorsFound): string {
    const rest = monitors.filter(({ name }) => !this.names.has(name)).map(({ name }) => bold(name));
    const count = total - this.names.size;
    return withRows(
      `${count} of ${counted(total, 'monitor')} were not down ${this.when}.`,
      rest,
      count,
    );
  }

  compared(earlier: number, then: string): string {
    const { total, incidents: newest } = this.list;
    const than = total === earlier ? 'as many as' : total > earlier ? 'more than' : 'fewer than';
    const sentence = `${this.count} ${this.when}, ${than} ${then} (${earlier}).`;
    return withRows(
      sentence,
      newest.map((one) => this.row(one)),
      total,
    );
  }

  private longest(): string {
    const [longest] = [...this.list.incidents].sort((a, b) => b.lasted_seconds - a.lasted_seconds);
    return longest
      ? `The longest of ${this.count} ${this.when}: ${this.row(longest)}.`
      : this.latest();
  }

  /** The monitor with the most incidents, or the most downtime. */
  private most(found: ParsedQuestion): string {
    const isByTime = has(found, 'downtime', 'down', 'worst') && !has(found, 'incident', 'howOften');
    const { by_monitor: longest, incidents: all, total } = this.list;
    // The tool leaves out monitors with little downtime.
    const every = [...this.names].map((monitor) => {
      const own = all.filter((one) => one.monitor === monitor);
      const down_seconds = own.reduce((sum, one) => sum + one.lasted_seconds, 0);
      return { monitor, incidents: own.length, down_seconds };
    });
    const sorted = (isByTime || total > all.length ? [...longest] : every).sort((a, b) =>
      isByTime ? b.down_seconds - a.down_seconds : b.incidents - a.incidents,
    );
    const [first] = sorted;
    if (!first) return this.latest();
    const value = isByTime
      ? `downtime: ${inWords(first.down_seconds * 1000)}`
      : `incidents: ${first.incidents}`;
    const rows = sorted.map(
      (one) =>
        `${bold(one.monitor)}: ${counted(one.incidents, 'incident')}, down for ${inWords(one.down_seconds * 1000)}`,
    );
    const sentence = `${bold(first.monitor)} had the most ${value} ${this.when}.`;
    return withRows(sentence, rows.slice(0, found.count ?? MAX_ROWS));
  }

  private get count(): string {
    const { total, complete } = this.list;
    return `${complete ? '' : 'At least '}${counted(total, 'incident')}`;
  }

  private row(incident: FoundIncident): string {
    return `${bold(incident.monitor)}: ${incidentText(incident, this.nowMs)}`;
  }

  /** The latest incident of each monitor. */
  private rowsByMonitor(): string[] {
    const all = this.list.incidents;
    return [...this.names].flatMap((name) => {
      const own = all.filter(({ monitor }) => monitor === name);
      const more = own.length > 1 ? ` (the last of ${own.length})` : '';
      return own.slice(0, 1).map((one) => this.row(one) + more);
    });
  }

  private get alerts(): string[] {
    return (this.list.reported_alerts?.incidents ?? []).map(
      ({ name, started_at, summary }) =>
        `${bold(name)}: alert from another system, ${timeText(started_at, this.nowMs)}${causeText(summary)}`,
    );
  }
}

export const uptimeOfAll: Overview = (found, { nowMs }) => {
  const input = { ...spanInput(found.span, STANDARD_SPAN), ...tagsInput(found) };
  const lookup = look('get_uptime', { ...input, limit: MAX_ROWS });
  return viewOf<UptimeShown>(
    lookup,
    ({ uptime_percent: percent, total = 0, first_day, last_day, monitors = [] }) => {
      const days = first_day === last_day ? `on ${first_day}` : `from ${first_day} to ${last_day}`;
      if (found.span && found.span.toMs < nowMs - UPTIME_KEPT_MS)
        return 'The uptime of all monitors is known only for the last 90 days.';
      if (percent === undefined) return `Nothing was checked ${days} (whole days, UTC).`;
      const bad = monitors.filter((one) => one.down_seconds > 0);
      const rows = bad
        .slice(0, found.count ?? MAX_ROWS)
        .map(
          (one) =>
            `${bold(one.monitor)}: ${one.uptime_percent} %, down for ${inWords(one.down_seconds * 1000)}`,
        );
      const all = `${percent} % uptime over all ${counted(total, 'monitor')}${taggedText(found)} ${days} (whole days, UTC).`;
      const [worst] = bad;
      const isWorst = has(found, 'worst', 'which', 'most') && worst !== undefined;
      const lead = isWorst
        ? `${bold(worst.monitor)} had the lowest uptime: ${worst.uptime_percent} %. `
        : '';
      return withRows(lead + all, rows);
    },
  );
};
