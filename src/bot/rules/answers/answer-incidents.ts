import { bold } from '../../shared/inert-markdown.ts';
import { answerOf, MAX_ROWS, reasonBehind } from './parts.ts';
import { momentOf, type Speech } from './speech.ts';

/** What `list_incidents` gives. */
interface Given {
  from: string;
  to: string;
  total: number;
  complete: boolean;
  incidents: AnsweredIncident[];
  by_monitor: OfMonitor[];
}

interface AnsweredIncident {
  monitor: string;
  started_at: string;
  ended_at?: string;
  lasted_seconds: number;
  cause: string;
}

interface OfMonitor {
  monitor: string;
  incidents: number;
  down_seconds: number;
  longest_seconds: number;
}

/** Monitors that the tool sums up at most. */
const MAX_SUMMED = 20;

type Answer = (output: Record<string, unknown>, speech: Speech) => string;

/** The same with the monitor that was asked about, as it was written. */
type AnswerOf = (monitor: string | undefined) => Answer;

const given = (output: Record<string, unknown>) => output as unknown as Given;

/** ` of **Shop**`: as it is named where that is known. */
function ofMonitor({ incidents: [first] }: Given, asked: string | undefined, { words }: Speech) {
  return asked === undefined ? '' : words.of(bold(first?.monitor ?? asked));
}

function incidentRow(incident: AnsweredIncident, nowMs: number, speech: Speech): string {
  const { words, time, length } = speech;
  const { monitor, started_at, ended_at, lasted_seconds, cause } = incident;
  const lasted = length(lasted_seconds * 1000);
  const state = ended_at === undefined ? `${lasted}, ${words.goesOn}` : lasted;
  return `${bold(monitor)}: ${time(started_at, nowMs)}, ${state}${reasonBehind(cause)}`;
}

const counted = ({ total, complete }: Given, { words, number }: Speech) =>
  words.incidents(total, complete ? number(total) : words.atLeast(number(total)));

/** What limits what is said. */
function notesOf(found: Given, speech: Speech, { isSummed = false } = {}): string[] {
  const { total, complete, by_monitor } = found;
  const { words, number } = speech;
  const isCut = by_monitor.length >= MAX_SUMMED;
  const looked = by_monitor.reduce((sum, one) => sum + one.incidents, 0);
  return [
    ...(isSummed && isCut ? [words.onlyWorst(number(by_monitor.length))] : []),
    ...(isSummed && !isCut && looked < total ? [words.onlyNewest(number(looked))] : []),
    ...(complete ? [] : [words.incomplete]),
  ];
}

/** The incidents of a time. */
export const answerIncidents: AnswerOf = (asked) => (output, speech) => {
  const found = given(output);
  const span = speech.span(found.from, found.to);
  const of = ofMonitor(found, asked, speech);
  const notes = notesOf(found, speech);
  if (found.total === 0) return answerOf(speech.words.noIncidents(of, span), { notes }, speech);
  const toMs = momentOf(found.to);
  return answerOf(
    speech.words.foundIncidents(counted(found, speech), of, span),
    {
      rows: found.incidents.map((incident) => incidentRow(incident, toMs, speech)),
      ...{ total: found.total, atLeast: !found.complete, notes },
    },
    speech,
  );
};

/** The same where nothing but the number was asked for, with the monitors that had them. */
export const answerIncidentCount: AnswerOf = (asked) => (output, speech) => {
  const found = given(output);
  if (asked !== undefined || found.total === 0) return answerIncidents(asked)(output, speech);
  const { words, number, length } = speech;
  const rows = found.by_monitor.map(
    ({ monitor, incidents, down_seconds }) =>
      `${bold(monitor)}: ${words.incidents(incidents, number(incidents))}, ${length(down_seconds * 1000)}`,
  );
  const atLeast = found.by_monitor.length >= MAX_SUMMED;
  return answerOf(
    words.foundIncidents(counted(found, speech), '', speech.span(found.from, found.to)),
    { rows, atLeast, notes: notesOf(found, speech) },
    speech,
  );
};

/** The longest of a time, in all that it lasted. */
export const answerLongest: AnswerOf = (asked) => (output, speech) => {
  const found = given(output);
  if (found.total === 0) return answerIncidents(asked)(output, speech);
  const { words, length } = speech;
  const isWhole = found.total <= found.incidents.length;
  const longest = [...found.incidents].sort((a, b) => b.lasted_seconds - a.lasted_seconds);
  const ofMonitors = [...found.by_monitor].sort((a, b) => b.longest_seconds - a.longest_seconds);
  const [first] = isWhole
    ? longest.map(({ monitor, lasted_seconds }) => ({ monitor, longest_seconds: lasted_seconds }))
    : ofMonitors;
  if (!first) return answerIncidents(asked)(output, speech);
  const toMs = momentOf(found.to);
  const rows = isWhole
    ? longest.slice(0, MAX_ROWS).map((incident) => incidentRow(incident, toMs, speech))
    : ofMonitors
        .slice(0, MAX_ROWS)
        .map(
          ({ monitor, longest_seconds: seconds }) => `${bold(monitor)}: ${length(seconds * 1000)}`,
        );
  return answerOf(
    words.longest(
      bold(first.monitor),
      length(first.longest_seconds * 1000),
      speech.span(found.from, found.to),
    ),
    { rows, notes: notesOf(found, speech, { isSummed: !isWhole }) },
    speech,
  );
};

/** Who was down the most in a time. */
export const answerWorst: Answer = (output, speech) => {
  const found = given(output);
  const { words, length, number } = speech;
  const [worst] = found.by_monitor;
  if (!worst) return answerIncidents(undefined)(output, speech);
  const rows = found.by_monitor
    .slice(0, MAX_ROWS)
    .map(
      ({ monitor, incidents, down_seconds }) =>
        `${bold(monitor)}: ${length(down_seconds * 1000)}, ${words.incidents(incidents, number(incidents))}`,
    );
  const span = speech.span(found.from, found.to);
  return answerOf(
    words.mostDown(bold(worst.monitor), length(worst.down_seconds * 1000), span),
    { rows, notes: newestNotes(found, speech) },
    speech,
  );
};

/** Who had the most incidents in a time. */
export const answerMostIncidents: Answer = (output, speech) => {
  const found = given(output);
  const { words, length, number } = speech;
  const sorted = [...found.by_monitor].sort((a, b) => b.incidents - a.incidents);
  const [most] = sorted;
  if (!most) return answerIncidents(undefined)(output, speech);
  const rows = sorted
    .slice(0, MAX_ROWS)
    .map(
      ({ monitor, incidents, down_seconds }) =>
        `${bold(monitor)}: ${number(incidents)}, ${length(down_seconds * 1000)}`,
    );
  const span = speech.span(found.from, found.to);
  return answerOf(
    words.mostIncidents(bold(most.monitor), number(most.incidents), span),
    { rows, notes: notesOf(found, speech, { isSummed: true }) },
    speech,
  );
};

/** Which monitors went down in a time. */
export const answerWentDown: Answer = (output, speech) => {
  const found = given(output);
  const { words, number, length } = speech;
  const span = speech.span(found.from, found.to);
  const count = found.by_monitor.length;
  const notes = notesOf(found, speech);
  if (found.total === 0) return answerOf(words.noneWasDown(span), { notes }, speech);
  const isCut = count >= MAX_SUMMED;
  const isSure = found.complete && !isCut;
  const rows = found.by_monitor.map(
    ({ monitor, incidents, down_seconds }) =>
      `${bold(monitor)}: ${length(down_seconds * 1000)}, ${words.incidents(incidents, number(incidents))}`,
  );
  return answerOf(
    words.wentDown(count, isSure ? number(count) : words.atLeast(number(count)), span),
    { rows, atLeast: !isSure, notes },
    speech,
  );
};

/** The newest of all that are kept. */
export const answerLastIncident: AnswerOf = (asked) => (output, speech) => {
  const found = given(output);
  const [last] = found.incidents;
  if (!last) return answerIncidents(asked)(output, speech);
  const time = speech.time(last.started_at, momentOf(found.to));
  return answerOf(
    speech.words.latestIncident(bold(last.monitor), time),
    { rows: [incidentRow(last, momentOf(found.to), speech)] },
    speech,
  );
};

/** The worst are first whatever is cut behind them, so only what was not looked at at all matters. */
function newestNotes(found: Given, speech: Speech): string[] {
  const isCut = found.by_monitor.length >= MAX_SUMMED;
  return notesOf(found, speech, { isSummed: !isCut });
}
