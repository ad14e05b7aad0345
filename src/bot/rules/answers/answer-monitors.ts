import { bold, plain } from '../../shared/inert-markdown.ts';
import type { StateKind } from '../languages/grammar.ts';
import { answerOf, type GivenMonitor, MAX_ROWS, monitorRow } from './parts.ts';
import { momentOf, type Speech } from './speech.ts';

/** What `list_monitors` gives. */
interface Given {
  as_of: string;
  total: number;
  by_status: Record<string, number>;
  matching: number;
  monitors: GivenMonitor[];
  reported_alerts?: { total: number; alerts: GivenAlert[] };
}

/** An alert that another system reports. */
interface GivenAlert {
  name: string;
  status: string;
  since: string;
  summary?: string;
}

type Answer = (output: Record<string, unknown>, speech: Speech) => string;

/** Statuses that are counted apart, since a tool lists them together. */
const COUNTED: Partial<Record<StateKind, readonly string[]>> = {
  paused: ['PAUSED', 'DISABLED'],
  maintenance: ['MAINTENANCE'],
};

const given = (output: Record<string, unknown>) => output as unknown as Given;

/** Statuses with how many have each, such as `198 UP, 2 DOWN`. */
const countsInWords = (counts: Record<string, number>, { number }: Speech) =>
  Object.entries(counts)
    .slice(0, MAX_ROWS)
    .map(([status, count]) => `${number(count)} ${plain(status, 20)}`)
    .join(', ');

/** ` (as of 14:05 UTC)`. */
const ofWhen = ({ as_of }: { as_of: string }, { words, time }: Speech) =>
  ` (${words.asOf(time(as_of, momentOf(as_of)))})`;

/** What other systems report besides, as a note below. */
function firingNotes({ as_of, reported_alerts }: Given, speech: Speech): string[] {
  if (!reported_alerts) return [];
  const { total, alerts } = reported_alerts;
  const rows = alerts.map((alert) => {
    const { name, status, since, summary } = alert;
    const state = { name, status, since, check_type: 'ALERT', ...(summary && { reason: summary }) };
    return monitorRow(state, momentOf(as_of), speech);
  });
  return [answerOf(`${speech.words.firing(total)}:`, { rows, total }, speech)];
}

/** That there are no monitors is not all where others report something. */
const withoutMonitors = (output: Given, speech: Speech) =>
  answerOf(speech.words.noMonitors, { notes: firingNotes(output, speech) }, speech);

/** Which monitors are in a state. */
export function answerState(state: StateKind): Answer {
  return (output, speech) => {
    const { as_of, total, by_status, matching, monitors } = given(output);
    const notes = firingNotes(given(output), speech);
    if (total === 0) return withoutMonitors(given(output), speech);
    const statuses = COUNTED[state];
    const isMeant = (status: string) => !statuses || statuses.includes(status.trim().toUpperCase());
    const count = statuses
      ? Object.entries(by_status).reduce((sum, [name, of]) => sum + (isMeant(name) ? of : 0), 0)
      : matching;
    const nowMs = momentOf(as_of);
    const rows = monitors
      .filter(({ status }) => isMeant(status))
      .map((monitor) => monitorRow(monitor, nowMs, speech));
    const sentence = speech.words.inState(state, count, total) + ofWhen({ as_of }, speech);
    // That a monitor is UP is all there is to say of it.
    return answerOf(sentence, state === 'up' ? {} : { rows, total: count, notes }, speech);
  };
}

/** Whether all is well. */
export const answerOverview: Answer = (output, speech) => {
  const { as_of, total, by_status, matching, monitors } = given(output);
  const notes = firingNotes(given(output), speech);
  if (total === 0) return withoutMonitors(given(output), speech);
  if (matching === 0)
    return answerOf(speech.words.allUp(total) + ofWhen({ as_of }, speech), { notes }, speech);
  return answerOf(
    `${speech.words.notUp(matching, total)}${ofWhen({ as_of }, speech)}: ${countsInWords(by_status, speech)}`,
    {
      rows: monitors.map((monitor) => monitorRow(monitor, momentOf(as_of), speech)),
      total: matching,
      notes,
    },
    speech,
  );
};

/** How many there are. */
export const answerCount: Answer = (output, speech) => {
  const { as_of, total, by_status } = given(output);
  if (total === 0) return speech.words.noMonitors;
  const count = `${speech.words.countOfMonitors(total)}${ofWhen({ as_of }, speech)}`;
  return answerOf(`${count}: ${countsInWords(by_status, speech)}`, {}, speech);
};

/** How many there are of a type of check. */
export const answerCountOfType =
  (type: string): Answer =>
  (output, speech) => {
    const { total, matching } = given(output);
    if (total === 0) return speech.words.noMonitors;
    return answerOf(speech.words.countOfType(plain(type, 20), matching, total), {}, speech);
  };

/** All of them. */
export const answerList: Answer = (output, speech) => {
  const { as_of, total, monitors } = given(output);
  if (total === 0) return speech.words.noMonitors;
  const rows = monitors.map((monitor) => monitorRow(monitor, momentOf(as_of), speech));
  const sentence = `${speech.words.countOfMonitors(total)}${ofWhen({ as_of }, speech)}`;
  return answerOf(sentence, { rows, total }, speech);
};

/** Those that took longest to answer when they were last checked; of what a job says, times mean nothing. */
export const answerSlowest: Answer = (output, speech) => {
  const { total, monitors } = given(output);
  if (total === 0) return speech.words.noMonitors;
  const timed = monitors.flatMap((monitor) => {
    const { check_type, response_time_ms: ms, name, status } = monitor;
    if (ms === undefined || check_type.toUpperCase() === 'HEARTBEAT') return [];
    return [{ name: bold(name), time: speech.responseTime(ms), status: plain(status, 20) }];
  });
  const [first] = timed;
  if (!first) return speech.words.noTimes;
  return answerOf(
    speech.words.slowest(first.name, first.time),
    {
      rows: timed
        .slice(0, MAX_ROWS)
        .map(({ name, time, status }) => `${name}: ${time} (${status})`),
    },
    speech,
  );
};

/** Which were made last. */
export const answerNewest: Answer = (output, speech) => {
  const { as_of, total, monitors } = given(output);
  if (total === 0) return speech.words.noMonitors;
  const nowMs = momentOf(as_of);
  const rows = monitors.flatMap(({ name, created_at: madeAt }) =>
    madeAt === undefined ? [] : [{ name: bold(name), since: speech.since(madeAt, nowMs) }],
  );
  const [first] = rows;
  if (!first) return speech.words.noBegins;
  return answerOf(
    speech.words.newest(first.name, first.since),
    { rows: rows.slice(0, MAX_ROWS).map(({ name, since }) => `${name}: ${since}`) },
    speech,
  );
};

/** Whose status changed last. */
export const answerChanges: Answer = (output, speech) => {
  const { as_of, total, monitors } = given(output);
  if (total === 0) return speech.words.noMonitors;
  const nowMs = momentOf(as_of);
  const changed = monitors.filter(({ since }) => since !== undefined);
  const [first] = changed;
  if (first?.since === undefined) return speech.words.noChanges;
  return answerOf(
    speech.words.latestChange(
      bold(first.name),
      plain(first.status, 20),
      speech.since(first.since, nowMs),
    ),
    { rows: changed.slice(0, MAX_ROWS).map((monitor) => monitorRow(monitor, nowMs, speech)) },
    speech,
  );
};
