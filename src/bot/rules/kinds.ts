import { answerAlerts, answerUsage } from './answers/answer-channel.ts';
import {
  answerIncidentCount,
  answerIncidents,
  answerLastIncident,
  answerLongest,
  answerMostIncidents,
  answerWentDown,
  answerWorst,
} from './answers/answer-incidents.ts';
import {
  answerCertificate,
  answerChecks,
  answerFlaps,
  answerInterval,
  answerLastCheck,
  answerStatus,
} from './answers/answer-monitor.ts';
import {
  answerChanges,
  answerCount,
  answerCountOfType,
  answerList,
  answerNewest,
  answerOverview,
  answerSlowest,
  answerState,
} from './answers/answer-monitors.ts';
import {
  answerDowntime,
  answerResponseTime,
  answerUptime,
  answerUptimeOfAll,
  answerWorstUptime,
} from './answers/answer-uptime.ts';
import { MAX_ROWS } from './answers/parts.ts';
import type { Speech } from './answers/speech.ts';
import type { QuestionKind, StateKind } from './languages/grammar.ts';
import type { Said } from './readers.ts';
import type { AskedSpan } from './spans.ts';

/** How a kind of question is answered. */
interface Kind {
  tool: string;
  /** The tool's input; `undefined` where what was said cannot be asked of it. */
  input(said: Said): Record<string, unknown> | undefined;
  answer(output: Record<string, unknown>, speech: Speech, said: Said): string;
}

/** The oldest data that is kept. */
const ALL_TIME = '400d';

/** A tool lists at most this many; an answer shows as many as fit. */
const MAX_MONITORS = 50;
const MAX_INCIDENTS = 100;

const MAX_CHECKS = 100;
const MAX_USAGE_DAYS = 90;
const SECONDS: Partial<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const INTERVAL = { min: 5, max: 86_400 };

/** Questions about monitors of one state. */
const STATE_INPUT: Record<StateKind, Record<string, unknown>> = {
  down: { status: 'down', limit: MAX_ROWS },
  up: { status: 'up', limit: 1 },
  degraded: { status: 'degraded', limit: MAX_ROWS },
  paused: { status: 'paused_or_maintenance', limit: MAX_MONITORS },
  maintenance: { status: 'paused_or_maintenance', limit: MAX_MONITORS },
  flapping: { flapping: true, limit: MAX_ROWS },
};

const state = (kind: StateKind): Kind => ({
  tool: 'list_monitors',
  input: () => STATE_INPUT[kind],
  answer: answerState(kind),
});

const list = (input: Record<string, unknown>, answer: Kind['answer']): Kind => ({
  tool: 'list_monitors',
  input: () => input,
  answer,
});

/** A question about one monitor, which must be named. */
const ofMonitor = (tool: string, answer: Kind['answer']): Kind => ({
  tool,
  input: ({ monitor }) => (monitor === undefined ? undefined : { monitor }),
  answer,
});

const uptime = (answer: Kind['answer']): Kind => ({
  tool: 'get_uptime',
  input: ({ monitor, span }) => (monitor === undefined ? undefined : { monitor, ...span }),
  answer,
});

const uptimeOfAll = (answer: Kind['answer']): Kind => ({
  tool: 'get_uptime',
  input: ({ span }) => (isOfDays(span) ? { ...span, limit: MAX_ROWS } : undefined),
  answer,
});

/** `limit` is what the answer shows, or all that it has to look at. */
const incidents = (limit: number, answer: Kind['answer']): Kind => ({
  tool: 'list_incidents',
  input: ({ monitor, span }) => ({ monitor, ...span, limit }),
  answer,
});

/** Every kind of question, with the tool that knows. */
export const kinds: Record<QuestionKind, Kind> = {
  overview: list({ status: 'not_up', limit: MAX_ROWS }, answerOverview),
  down: state('down'),
  up: state('up'),
  degraded: state('degraded'),
  paused: state('paused'),
  maintenance: state('maintenance'),
  flapping: state('flapping'),
  count: list({ limit: 1 }, answerCount),
  countOfType: {
    tool: 'list_monitors',
    input: ({ type }) => (type === undefined ? undefined : { check_type: type, limit: 1 }),
    answer: (output, speech, { type = '' }) => answerCountOfType(type)(output, speech),
  },
  list: list({ limit: MAX_ROWS }, answerList),
  // More than are shown, since some have no time.
  slowest: {
    ...list({ sort: 'slowest', limit: MAX_MONITORS }, answerSlowest),
    input: ({ count = 1 }) =>
      count >= 1 && count <= MAX_ROWS ? { sort: 'slowest', limit: MAX_MONITORS } : undefined,
  },
  changes: list({ sort: 'latest_change', limit: MAX_ROWS }, answerChanges),
  newest: list({ sort: 'newest', limit: MAX_ROWS }, answerNewest),
  status: ofMonitor('get_monitor', answerStatus()),
  flaps: ofMonitor('get_monitor', answerFlaps),
  certificate: ofMonitor('get_monitor', answerCertificate),
  interval: ofMonitor('get_monitor', answerInterval),
  uptime: uptime(answerUptime),
  downtime: uptime(answerDowntime),
  responseTime: uptime(answerResponseTime),
  uptimeOfAll: uptimeOfAll(answerUptimeOfAll),
  worstUptime: uptimeOfAll(answerWorstUptime),
  incidents: incidents(MAX_ROWS, (output, speech, { monitor }) =>
    answerIncidents(monitor)(output, speech),
  ),
  incidentCount: incidents(MAX_ROWS, (output, speech, { monitor }) =>
    answerIncidentCount(monitor)(output, speech),
  ),
  longest: incidents(MAX_INCIDENTS, (output, speech, { monitor }) =>
    answerLongest(monitor)(output, speech),
  ),
  worst: incidents(1, answerWorst),
  mostIncidents: incidents(1, answerMostIncidents),
  wentDown: incidents(1, answerWentDown),
  lastIncident: {
    tool: 'list_incidents',
    input: ({ monitor }) => ({
      monitor,
      ...{ last: ALL_TIME, limit: 1 },
    }),
    answer: (output, speech, { monitor }) => answerLastIncident(monitor)(output, speech),
  },
  checks: {
    tool: 'list_check_results',
    input: ({ monitor, count = MAX_ROWS }) =>
      monitor !== undefined && count >= 1 && count <= MAX_CHECKS
        ? { monitor, limit: count }
        : undefined,
    answer: answerChecks,
  },
  lastCheck: {
    tool: 'list_check_results',
    input: ({ monitor }) => (monitor === undefined ? undefined : { monitor, limit: 1 }),
    answer: answerLastCheck,
  },
  checkNow: ofMonitor('check_monitor', answerStatus({ isChecked: true })),
  alerts: { tool: 'get_channel_alerts', input: () => ({}), answer: answerAlerts },
  usage: { tool: 'get_usage', input: ({ span }) => usageDays(span), answer: answerUsage },
  watch: { tool: 'create_monitor', input: newMonitor, answer: () => '' },
  pause: ofMonitor('pause_monitor', () => ''),
  resume: ofMonitor('resume_monitor', () => ''),
};

/** True if a time is made of whole days, which is how all monitors are counted. */
function isOfDays(span: AskedSpan | undefined): boolean {
  if (span?.from?.includes('T')) return false;
  const [, count = '', unit] = /^(\d+)([mh])$/.exec(span?.last ?? '') ?? [];
  return unit === undefined || (unit === 'h' && Number(count) >= 24);
}

/** Usage is counted in days before now. */
function usageDays(span: AskedSpan | undefined): Record<string, unknown> | undefined {
  if (span === undefined) return {};
  const [, count = '', unit] = /^(\d+)([hdw])$/.exec(span.last ?? '') ?? [];
  if (unit === undefined) return undefined;
  const days = unit === 'h' ? Number(count) / 24 : Number(count) * (unit === 'w' ? 7 : 1);
  return Number.isInteger(days) && days <= MAX_USAGE_DAYS ? { days } : undefined;
}

function newMonitor({ target, name, unit, count = 1 }: Said): Record<string, unknown> | undefined {
  if (target === undefined) return undefined;
  const named = { target, name };
  if (unit === undefined) return named;
  const interval = (SECONDS[unit] ?? Number.NaN) * count;
  const isAllowed = interval >= INTERVAL.min && interval <= INTERVAL.max;
  return isAllowed ? { ...named, interval_seconds: interval } : undefined;
}
