import { bold } from '../../shared/inert-markdown.ts';
import { DAY_MS } from '../days.ts';
import { answerOf, MAX_ROWS } from './parts.ts';
import { momentOf, type Speech } from './speech.ts';

/** What `get_uptime` gives of one monitor. */
interface Span {
  from: string;
  to: string;
  uptime_percent?: number;
  down_seconds: number;
  unseen_seconds: number;
  checks?: number;
  failed_checks?: number;
  response_time_ms?: { min: number; mean: number; max: number };
}

interface Given {
  monitor: string;
  span: Span;
  span_before?: Span;
}

/** And of all. */
interface GivenOfAll {
  as_of: string;
  first_day: string;
  last_day: string;
  uptime_percent?: number;
  watched_seconds?: number;
  monitors: Array<{
    monitor: string;
    uptime_percent: number;
    watched_seconds: number;
    down_seconds: number;
  }>;
  total: number;
}

type Answer = (output: Record<string, unknown>, speech: Speech) => string;

const given = (output: Record<string, unknown>) => output as unknown as Given;
const ofAll = (output: Record<string, unknown>) => output as unknown as GivenOfAll;

/** What is to know of a span beside its uptime. */
function rowsOf(
  { span, span_before }: Given,
  speech: Speech,
  { withUptime = false } = {},
): string[] {
  const { words, length, number, percent } = speech;
  const { checks, failed_checks = 0, response_time_ms: times } = span;
  const before = span_before && speech.span(span_before.from, span_before.to);
  return [
    ...(withUptime && span.uptime_percent !== undefined
      ? [`${percent(span.uptime_percent)} ${words.ofIt}`]
      : []),
    ...(!withUptime && span.down_seconds > 0
      ? [`${words.downFor}: ${length(span.down_seconds * 1000)}`]
      : []),
    ...(span.unseen_seconds > 0
      ? [`${words.unseenFor}: ${length(span.unseen_seconds * 1000)}`]
      : []),
    ...(checks === undefined
      ? []
      : [`${words.checks(checks, number(checks))}, ${words.failed(number(failed_checks))}`]),
    ...(times ? [`${words.responseTimes}: ${timesInWords(times, speech)}`] : []),
    ...(span_before && before !== undefined
      ? [
          span_before.uptime_percent === undefined
            ? words.beforeUnseen(before)
            : words.before(percent(span_before.uptime_percent), before),
        ]
      : []),
  ];
}

const timesInWords = (
  { min, mean, max }: { min: number; mean: number; max: number },
  { words, responseTime }: Speech,
) =>
  `${responseTime(mean)} (${words.fastest} ${responseTime(min)}, ${words.slowestTime} ${responseTime(max)})`;

/** How much of a time one monitor was up, and of the time before. */
export const answerUptime: Answer = (output, speech) => {
  const found = given(output);
  const { uptime_percent: percent, from, to } = found.span;
  const name = bold(found.monitor);
  const span = speech.span(from, to);
  if (percent === undefined) return speech.words.unseen(name, span);
  const spanMs = momentOf(to) - momentOf(from);
  const watchedMs = spanMs - found.span.unseen_seconds * 1000;
  const shown = percentWatched(percent, { watchedMs, spanMs }, speech);
  const sentence = speech.words.uptime(name, shown, span);
  return answerOf(sentence, { rows: rowsOf(found, speech) }, speech);
};

/** How long one monitor was down. */
export const answerDowntime: Answer = (output, speech) => {
  const found = given(output);
  const { uptime_percent: percent, down_seconds: seconds, from, to } = found.span;
  const { words, length } = speech;
  const name = bold(found.monitor);
  const span = speech.span(from, to);
  if (percent === undefined) return words.unseen(name, span);
  const isDown = percent < 100 || seconds > 0;
  const sentence = isDown
    ? words.wasDown(name, length(seconds * 1000), span)
    : words.wasNotDown(name, span);
  return answerOf(sentence, { rows: rowsOf(found, speech, { withUptime: true }) }, speech);
};

/** How fast one monitor answered. */
export const answerResponseTime: Answer = (output, speech) => {
  const { monitor, span, span_before: before } = given(output);
  const { words, responseTime } = speech;
  const name = bold(monitor);
  const times = span.response_time_ms;
  if (!times) return words.noResponseTime(name, speech.span(span.from, span.to));
  const rows = [
    `${words.fastest}: ${responseTime(times.min)}`,
    `${words.slowestTime}: ${responseTime(times.max)}`,
    ...(before?.response_time_ms
      ? [
          words.before(
            timesInWords(before.response_time_ms, speech),
            speech.span(before.from, before.to),
          ),
        ]
      : []),
  ];
  const sentence = words.responseTime(
    name,
    responseTime(times.mean),
    speech.span(span.from, span.to),
  );
  return answerOf(sentence, { rows }, speech);
};

/** The days that were counted. */
const daysOf = ({ first_day, last_day }: GivenOfAll, speech: Speech) => {
  const end = new Date(momentOf(`${last_day}T00:00:00Z`) + DAY_MS).toISOString();
  return speech.span(`${first_day}T00:00:00Z`, end);
};

/** A percentage, with the time that it is of where that is less than half of the span. */
function percentWatched(
  percent: number,
  { watchedMs, spanMs }: { watchedMs: number; spanMs: number },
  { words, length, percent: inWords }: Speech,
): string {
  const text = inWords(percent);
  return watchedMs < spanMs / 2 ? `${text} (${words.watchedFor(length(watchedMs))})` : text;
}

/** The same of some days, of which the last may not be over. */
function percentOfDays(
  { as_of, first_day, last_day }: GivenOfAll,
  { uptime_percent, watched_seconds }: { uptime_percent: number; watched_seconds?: number },
  speech: Speech,
): string {
  const endMs = Math.min(momentOf(`${last_day}T00:00:00Z`) + DAY_MS, momentOf(as_of));
  const spanMs = endMs - momentOf(`${first_day}T00:00:00Z`);
  const watchedMs = watched_seconds === undefined ? spanMs : watched_seconds * 1000;
  return percentWatched(uptime_percent, { watchedMs, spanMs }, speech);
}

const rowsOfAll = (found: GivenOfAll, speech: Speech) =>
  found.monitors
    .filter((one) => one.uptime_percent < 100 || one.down_seconds > 0)
    .slice(0, MAX_ROWS)
    .map(
      (one) =>
        `${bold(one.monitor)}: ${percentOfDays(found, one, speech)}, ${speech.words.downFor.toLowerCase()}: ${speech.length(one.down_seconds * 1000)}`,
    );

/** How much of some days all monitors were up. */
export const answerUptimeOfAll: Answer = (output, speech) => {
  const found = ofAll(output);
  const { words, number } = speech;
  const days = daysOf(found, speech);
  if (found.uptime_percent === undefined) return words.allUnseen(days);
  const count = words.monitors(found.total, number(found.total));
  const sentence = words.uptimeOfAll(
    count,
    percentOfDays(found, { ...found, uptime_percent: found.uptime_percent }, speech),
    `${days}, ${words.wholeDays}`,
  );
  return answerOf(sentence, { rows: rowsOfAll(found, speech) }, speech);
};

/** Which monitor was up the least. */
export const answerWorstUptime: Answer = (output, speech) => {
  const found = ofAll(output);
  const { words } = speech;
  const days = daysOf(found, speech);
  const [worst] = found.monitors;
  if (!worst) return words.allUnseen(days);
  const span = `${days}, ${words.wholeDays}`;
  if (worst.uptime_percent === 100 && worst.down_seconds === 0) {
    return answerOf(words.noneWasDown(span), {}, speech);
  }
  return answerOf(
    words.leastUptime(bold(worst.monitor), percentOfDays(found, worst, speech), span),
    { rows: rowsOfAll(found, speech) },
    speech,
  );
};
