import { inWords } from '../../../contracts/duration.ts';
import { bold, plain } from '../../shared/inert-markdown.ts';
import { isDegraded, isDown, isPaused, isSilenced, isUp } from '../../shared/status.ts';
import { counted, inUnits } from '../../shared/text-format.ts';
import type { MonitorShown } from '../../tools/get-monitor.ts';
import type { UptimeShown, UptimeSpan } from '../../tools/get-uptime.ts';
import type { IncidentsFound } from '../../tools/list-incidents.ts';
import type { MonitorView } from '../../tools/read-model.ts';
import { has, type ParsedQuestion } from '../find.ts';
import type { Concept } from '../languages/vocabulary.ts';
import type { NamedSubject } from '../names.ts';
import { spanInWords } from '../spans.ts';
import {
  causeText,
  expiryText,
  incidentText,
  look,
  monitorRow,
  spanInput,
  stateText,
  timeText,
  type View,
  type ViewContext,
  viewOf,
  windowText,
  yesOrNo,
} from './view.ts';

/** Incidents and uptime without a named time. */
const STANDARD = { incidents: '400d', uptime: '7d' };
const MAX_INCIDENTS = 100;
const MAX_SHOWN = 7;

/** The facts about one monitor, with the direct answer first. `isShort` leaves out a look-up that the answer can do without. */
export function monitorView(
  { id }: NamedSubject,
  found: ParsedQuestion,
  context: ViewContext,
  { isShort = false } = {},
): View {
  const { span } = found;
  const during = spanInput(span, STANDARD.incidents);
  const incidentLookup = look('list_incidents', { monitor: id, ...during, limit: MAX_INCIDENTS });
  const uptimeLookup = look('get_uptime', { monitor: id, ...spanInput(span, STANDARD.uptime) });
  const { compared } = found;
  const isOfUptime = has(found, 'uptime', 'response', 'slow', 'compare');
  const shortLookups = [isOfUptime ? uptimeLookup : incidentLookup];
  return {
    lookups: [
      look('get_monitor', { monitor: id }),
      ...(isShort ? shortLookups : [incidentLookup, uptimeLookup]),
      ...(compared ? [look('get_uptime', { monitor: id, ...spanInput(compared, '') })] : []),
    ],
    write(shown, second, third, fourth) {
      const [incidents, uptime] = isShort && isOfUptime ? [undefined, second] : [second, third];
      const before = (isShort ? third : fourth) as UptimeShown | undefined;
      return new MonitorText(
        {
          ...(shown as MonitorShown),
          history: incidents as IncidentsFound,
          ...(uptime as UptimeShown),
          ...(compared && { span_before: before?.span }),
          monitor: (shown as MonitorShown).monitor,
        },
        found,
        context,
      ).whole();
    },
  };
}

/** The result of a check on request. */
export const checkView = ({ id }: NamedSubject, { nowMs }: ViewContext): View =>
  viewOf<{ monitor: MonitorView }>(look('check_monitor', { monitor: id }), ({ monitor }) => {
    const time = monitor.response_time_ms;
    const answered = time === undefined ? '' : ` It answered in ${timed(time)}.`;
    return `${monitorRow(monitor, nowMs)}.${answered}`;
  });

const timed = (ms: number) => inUnits(ms).replace('<', '\\<');
const lasted = (seconds: number) => inWords(seconds * 1000);

/** States that a question may be about. */
const IS_IN_STATE = {
  ok: (monitor: MonitorView) => isUp(monitor) && !monitor.flapping,
  up: isUp,
  down: isDown,
  degraded: isDegraded,
  paused: isPaused,
  maintenance: (monitor: MonitorView) => isSilenced(monitor) && !isPaused(monitor),
  flapping: ({ flapping }: MonitorView) => flapping === true,
};
type AskedState = keyof typeof IS_IN_STATE;
const STATES = Object.keys(IS_IN_STATE) as AskedState[];

type Facts = MonitorShown &
  Pick<UptimeShown, 'span' | 'span_before'> & { history: IncidentsFound | undefined };

/** A sentence that answers; `shows` tells what the rows below needn't say again. */
interface DirectAnswer {
  text: string;
  shows?: 'state' | 'incidents';
}

class MonitorText {
  private readonly facts: Facts;
  private readonly found: ParsedQuestion;
  private readonly context: ViewContext;
  private readonly name: string;

  constructor(facts: Facts, found: ParsedQuestion, context: ViewContext) {
    this.facts = facts;
    this.found = found;
    this.context = context;
    this.name = bold(facts.monitor.name);
  }

  whole(): string {
    const { text, shows } = this.direct();
    const rows = [
      ...(shows === 'state' ? [] : [`Status: ${this.state}`]),
      ...this.maintenanceRows(),
      ...this.incidentRows(shows === 'incidents'),
      ...this.uptimeRows(),
    ];
    return [text, ...(rows.length > 0 ? [''] : []), ...rows.map((row) => `- ${row}`)].join('\n');
  }

  /** The answer to the most special thing that was asked. */
  private direct(): DirectAnswer {
    const { span } = this.found;
    const { monitor } = this.facts;
    const asks = (...some: Concept[]) => has(this.found, ...some);
    if (asks('maintenance') && !(span && asks('past')) && this.windows)
      return { text: this.maintenance(this.windows) };
    if (asks('address') && !STATES.some((state) => asks(state)))
      return { text: `${this.name} checks ${plain(monitor.target)}.` };
    if (asks('certificate')) return { text: this.certificate() };
    if (asks('interval') || (asks('howOften') && asks('check'))) return { text: this.interval() };
    if (asks('run') && monitor.check_type === 'HEARTBEAT')
      return { text: this.run(), shows: 'incidents' };
    if (asks('check')) return { text: this.lastCheck() };
    if (asks('response', 'slow')) return { text: this.responseTime() };
    if (asks('uptime') || (asks('compare') && !asks('incident'))) return { text: this.uptime() };
    if (asks('howOften', 'howMany')) return { text: this.count(), shows: 'incidents' };
    if (!asks('longest') && (asks('downtime') || (asks('duration') && span)))
      return { text: this.downtime(), shows: 'incidents' };
    if (this.isOfLastIncident()) return { text: this.lastIncident(), shows: 'incidents' };
    if (span) return { text: this.during(), shows: 'incidents' };
    if (asks('duration', 'when')) return { text: this.sinceWhen(), shows: 'state' };
    return {
      text: `${this.yesOrNo((state) => IS_IN_STATE[state](monitor))}${this.name} ${this.isNow}.`,
      shows: 'state',
    };
  }

  /** True if a question is about an incident that is over, or could be. */
  private isOfLastIncident(): boolean {
    const asks = (...some: Concept[]) => has(this.found, ...some);
    const isLast = asks('latest', 'longest') || (asks('last') && !this.found.span);
    if (isLast && !asks('up', 'ok')) return true;
    if (this.found.span || isDown(this.facts.monitor)) return false;
    const isOfOutage = asks('down', 'incident');
    return (
      (asks('why') && isUp(this.facts.monitor)) || (isOfOutage && asks('past', 'when', 'duration'))
    );
  }

  private get nowMs() {
    return this.context.nowMs;
  }

  /** The named time; without one, the time of the uptime. */
  private get when(): string {
    const { span } = this.found;
    return span ? spanInWords(span, this.context) : 'in the last 7 days';
  }

  private get state(): string {
    const { monitor } = this.facts;
    const { last_checked_at: at, response_time_ms: time, check_type: type } = monitor;
    return [
      stateText(monitor, this.nowMs),
      ...(at === undefined ? [] : [`checked ${timeText(at, this.nowMs)}`]),
      ...(time === undefined || type === 'HEARTBEAT' ? [] : [timed(time)]),
    ].join(', ');
  }

  /** `has been UP since …`, `is PENDING`. */
  private get isNow(): string {
    return `${this.facts.monitor.since === undefined ? 'is' : 'has been'} ${this.state}`;
  }

  private yesOrNo(isTrue: (state: AskedState) => boolean): string {
    const [state, ...others] = STATES.filter((one) => this.found.concepts.has(one));
    return state === undefined || others.length > 0 ? '' : yesOrNo(this.found, isTrue(state));
  }

  private sinceWhen(): string {
    const { since } = this.facts.monitor;
    const length = since === undefined ? '' : `${inWords(this.nowMs - Date.parse(since))}: `;
    return `${length}${this.name} ${this.isNow}.`;
  }

  /** The answer if the look-up that it needs failed. */
  private notKnown(facts: string): string {
    return `I couldn't look up the ${facts} of ${this.name}.`;
  }

  private lastIncident(): string {
    if (!this.facts.history) return this.notKnown('incidents');
    const { incidents } = this.facts.history;
    const [longest] = [...incidents].sort((a, b) => b.lasted_seconds - a.lasted_seconds);
    const isLongest = has(this.found, 'longest');
    const last = isLongest ? longest : incidents[0];
    if (!last)
      return `${this.name} has no recorded incident${this.found.span ? ` ${this.when}` : ''}.`;
    const { started_at, ended_at, lasted_seconds, cause } = last;
    const at = timeText(started_at, this.nowMs);
    const lead = has(this.found, 'duration') ? `${lasted(lasted_seconds)}: ` : '';
    const text =
      ended_at === undefined
        ? `has been down since ${at}, for ${lasted(lasted_seconds)}`
        : `${isLongest ? 'had its longest incident' : 'was last down'} on ${at}, for ${lasted(lasted_seconds)}`;
    return `${lead}${this.name} ${text}${causeText(cause)}.`;
  }

  private get times(): string {
    const { total = 0 } = this.facts.history ?? {};
    return total === 1 ? 'once' : `${total} times`;
  }

  private count(): string {
    if (!this.facts.history) return this.notKnown('incidents');
    const { total } = this.facts.history;
    const when = this.found.span ? this.when : 'in the last 400 days';
    if (total === 0 && this.isUnseen)
      return `${this.name} was not checked ${when}, so its incidents are unknown.`;
    if (total === 0) return `No incident: ${this.name} was not down ${when}.`;
    return `${counted(total, 'incident')}: ${this.name} was down ${this.times} ${when}.`;
  }

  /** True if nothing is known of the named time. */
  private get isUnseen(): boolean {
    const { span } = this.facts;
    return this.found.span !== undefined && span !== undefined && span.uptime_percent === undefined;
  }

  /** `in the same time before`, or the time that was named for it. */
  private get before(): string {
    const { compared } = this.found;
    return compared ? spanInWords(compared, this.context) : 'in the same time before';
  }

  /** Up or down in a named time. */
  private during(): string {
    const { history, span } = this.facts;
    if (!history) return this.notKnown('incidents');
    const wasDown = history.total > 0;
    if (!wasDown && this.isUnseen) {
      return `${this.name} was not checked ${this.when}, so its state is unknown.`;
    }
    const isOfIncident = has(this.found, 'incident') && !has(this.found, 'ok', 'up', 'down');
    const answer = isOfIncident
      ? yesOrNo(this.found, wasDown)
      : this.yesOrNo((state) => (state === 'up' || state === 'ok') !== wasDown);
    if (!wasDown) return `${answer}${this.name} was not down ${this.when}.`;
    const all = span ? `, for ${lasted(span.down_seconds)} in all` : '';
    return `${answer}${this.name} was down ${this.times} ${this.when}${all}.`;
  }

  private downtime(): string {
    const { span } = this.facts;
    if (!span || span.uptime_percent === undefined) return this.during();
    if (span.down_seconds === 0) return `No downtime: ${this.name} was not down ${this.when}.`;
    return `${lasted(span.down_seconds)}: ${this.name} was down that long ${this.when}.`;
  }

  private uptime(): string {
    const { span, span_before: before } = this.facts;
    if (!span) return this.notKnown('uptime');
    if (span.uptime_percent === undefined)
      return `${this.name} was not checked ${this.when}, so it has no uptime.`;
    const earlier = has(this.found, 'compare') ? before?.uptime_percent : undefined;
    const compared = earlier === undefined ? '' : `, ${earlier} % ${this.before}`;
    return `${this.name} was up ${span.uptime_percent} % of the time ${this.when}${watched(span)}${compared}.`;
  }

  private responseTime(): string {
    const { monitor, span, span_before: before } = this.facts;
    if (monitor.check_type === 'HEARTBEAT')
      return `${this.name} is a job that pings Askwatch, so it has no response time.`;
    const isCompared = has(this.found, 'compare');
    const last = this.found.span && !isCompared ? undefined : monitor.response_time_ms;
    const now = last === undefined ? [] : [`${timed(last)} in its last check`];
    const times = span?.response_time_ms;
    const average = times
      ? [
          `${timed(times.mean)} on average ${this.when} (${timed(times.min)} to ${timed(times.max)})`,
        ]
      : [];
    const earlier = isCompared ? before?.response_time_ms : undefined;
    const compared = earlier ? [`${timed(earlier.mean)} ${this.before}`] : [];
    const all = [...now, ...average, ...compared];
    if (all.length === 0 && !span) return this.notKnown('response times');
    if (all.length === 0) return `${this.name} has no response times ${this.when}.`;
    return `${this.name} answered in ${all.join(', ')}.`;
  }

  private certificate(): string {
    const { certificate_ends_at: ends } = this.facts;
    if (ends === undefined) return `Askwatch has seen no certificate of ${this.name}.`;
    return `The certificate of ${this.name} ${expiryText(ends, this.nowMs)}.`;
  }

  private interval(): string {
    const { interval_seconds: seconds, monitor } = this.facts;
    if (seconds === undefined) return `The interval of ${this.name} is unknown.`;
    const verb = monitor.check_type === 'HEARTBEAT' ? 'should ping' : 'is checked';
    return `${this.name} ${verb} every ${lasted(seconds).replace(/^1 (?=\w+$)/, '')}.`;
  }

  private lastCheck(): string {
    const { monitor, last_checks: checks = [] } = this.facts;
    const [newest] = checks;
    const at = newest?.at ?? monitor.last_checked_at;
    if (at === undefined) return `${this.name} has not been checked yet.`;
    const failed = checks.filter(({ ok }) => !ok).length;
    const result = newest
      ? newest.ok
        ? ' and passed'
        : ` and failed${causeText(newest.reason)}`
      : '';
    const others =
      checks.length > 1 ? ` ${failed} of the last ${checks.length} checks failed.` : '';
    return `${this.name} was last checked at ${timeText(at, this.nowMs)}${result}.${others}`;
  }

  /** A job is late only in its incidents. */
  private run(): string {
    const { monitor, history } = this.facts;
    const { span } = this.found;
    const { last_checked_at: ping } = monitor;
    if (span && !history) return this.notKnown('runs');
    const at = ping === undefined ? undefined : timeText(ping, this.nowMs);
    const last = at === undefined ? 'It has not pinged yet.' : `Its last ping came at ${at}.`;
    if (has(this.found, 'when') && !span && at !== undefined) {
      return `${this.name} last pinged at ${at}.`;
    }
    const [incident] = history?.incidents ?? [];
    const isLate = span ? incident !== undefined : isDown(monitor);
    if (isLate && incident) {
      return `No, ${this.name} was late: ${incidentText(incident, this.nowMs)}. ${last}`;
    }
    if (!isUp(monitor) && !span) return `${this.name} ${this.isNow}. ${last}`;
    return `Yes, ${this.name} was on time${span ? ` ${this.when}` : ''}. ${last}`;
  }

  /** Active and coming maintenance; `undefined` if the service shows no details of monitors. */
  private get windows(): string[] | undefined {
    const { settings, planned_maintenance: windows = [] } = this.facts;
    return settings && windows.map((one) => windowText(one, this.nowMs));
  }

  private maintenance([first, ...others]: string[]): string {
    const { monitor } = this.facts;
    const answer = this.yesOrNo((state) => IS_IN_STATE[state](monitor));
    if (first === undefined) return `${answer}${this.name} has no planned maintenance.`;
    return [`${answer}${this.name} ${first}.`, ...others.map((one) => `It ${one}.`)].join(' ');
  }

  private maintenanceRows(): string[] {
    if (has(this.found, 'maintenance')) return [];
    return (this.windows ?? []).map((one) => `It ${one}`);
  }

  private incidentRows(areAsked: boolean): string[] {
    const { incidents = [], total = 0 } = this.facts.history ?? {};
    const shown = incidents.slice(0, MAX_SHOWN);
    const left = total - shown.length;
    if (areAsked) {
      return [
        ...shown.map((one) => `Down ${incidentText(one, this.nowMs)}`),
        ...(left > 0 ? [`and ${left} more`] : []),
      ];
    }
    const last = incidents.find(({ ended_at }) => ended_at !== undefined);
    return last ? [`Last incident: ${incidentText(last, this.nowMs)}`] : [];
  }

  private uptimeRows(): string[] {
    const { span } = this.facts;
    if (span?.uptime_percent === undefined) return [];
    const down = span.down_seconds > 0 ? `, down for ${lasted(span.down_seconds)}` : '';
    const times = span.response_time_ms;
    return [
      `Uptime ${this.when}: ${span.uptime_percent} %${watched(span)}${down}`,
      ...(times ? [`Response time: ${timed(times.mean)} on average`] : []),
    ];
  }
}

/** The checked time, if it is less than half of a span. */
function watched({ from, to, unseen_seconds }: UptimeSpan): string {
  const lengthMs = Date.parse(to) - Date.parse(from);
  const watchedMs = lengthMs - unseen_seconds * 1000;
  return watchedMs < lengthMs / 2 ? ` (checked for ${inWords(watchedMs)})` : '';
}
