import { maskedText } from '../../contracts/secret-values.ts';
import { alertCard, changesInWords, lasted } from '../alerts/alert-card.ts';
import { lostWords } from '../alerts/alert-titles.ts';
import { isReported, wordsOf, wordsOfAll } from '../alerts/alert-words.ts';
import { targetInWords } from '../alerts/incident-facts.ts';
import type { ThreadIncident } from '../incidents/incident-service.ts';
import { SNOOZE_MS } from '../incidents/incidents.ts';
import { type GroupMember, groupBy, type Incident, type Note } from '../incidents/watch-state.ts';
import { compact } from '../shared/card.ts';
import { bold, plain } from '../shared/inert-markdown.ts';
import { hostOf, shownTarget } from '../shared/target-link.ts';
import { counted, inUnits, inWords, percentText } from '../shared/text-format.ts';
import {
  BEFORE_DAYS,
  type ServiceFacts,
  spanOf,
  type ThreadQuestion,
  wholeSpan,
} from './postmortem-facts.ts';

export interface PostmortemFacts {
  found: ThreadIncident;
  service: ServiceFacts;
  place: string;
  /** Oldest first. */
  questions: readonly ThreadQuestion[];
  /** The investigation in this thread, in Markdown. */
  investigation?: { answer: string; atMs: number };
  nowMs: number;
}

/** A postmortem in Markdown, written by rules. Outside text is on one line each and makes no markup. */
export interface Draft {
  title: string;
  sections: ReadonlyArray<{ heading: string; text: string }>;
}

interface TimelineEntry {
  atMs: number;
  text: string;
}

const MAX_NAMED = 20;
/** A longer timeline leaves out its middle. */
const MAX_FIRST = 40;
const MAX_LAST = 20;
const MAX_FINDINGS = 15;
const MAX_QUESTIONS = 15;
const MAX_HOSTS = 5;
const MAX_SUMMED = 5;
/** Comparing more monitors would take too long at once. */
const MAX_COMPARED = 1_000;

const MAX_NAME = 100;
const MAX_TEXT = 300;
const MAX_NOTE = 500;

/** Failed checks shortly before an outage belong to it, because a second one confirms it. */
const CONFIRMED_WITHIN_MS = 10 * 60_000;

export function draftPostmortem(facts: PostmortemFacts): Draft {
  const { all } = facts.found;
  const marks = [...acknowledgements(all), ...snoozes(all)];
  return {
    title: postmortemTitle(facts.found),
    sections: [
      { heading: 'Summary', text: summary(facts) },
      { heading: 'Timeline', text: timeline(facts, marks) },
      { heading: 'Cause', text: listOf(cause(facts)) },
      { heading: 'Impact', text: listOf(effect(facts)) },
      { heading: 'Response', text: listOf(people(facts, marks)) },
      { heading: 'Open questions', text: listOf(openQuestions(facts)) },
    ],
  };
}

export function postmortemTitle({ incident, group }: ThreadIncident): string {
  const { title } = alertCard(group ?? incident, { shownOpen: true });
  return `Postmortem draft: ${plain(title, 200)}`;
}

export const draftText = ({ title, sections }: Draft) =>
  [`# ${title}`, ...sections.map(sectionText)].join('\n\n');

export const sectionText = ({ heading, text }: Draft['sections'][number]) =>
  `## ${heading}\n\n${text}`;

const listOf = (lines: readonly string[]) => lines.map((line) => `- ${line}`).join('\n');

function summary(facts: PostmortemFacts): string {
  const { found, nowMs } = facts;
  const { incident, group } = found;
  const { fromMs, toMs } = wholeSpan(incident, group);
  const first = firstAcknowledged(found);
  const words = group ? wordsOfAll(group.members) : wordsOf(incident);
  const what = group
    ? `${counted(group.members.length, words.noun)} ${words.began} together from ${at(fromMs)}: ${membersInWords(found)}.`
    : incident.flapping
      ? `${withTarget(incident)} ${words.began} ${counted(incident.flapping.downs, 'time')} from ${at(fromMs)}, ${changesInWords(incident.flapping)}.`
      : `${withTarget(incident)} was ${plain(incident.degraded ?? words.status, 40)} from ${began(incident)}.`;
  const end =
    toMs === undefined
      ? `It was still ongoing after ${inWords(nowMs - fromMs)}, when this draft was written.`
      : incident.gone && !group
        ? `It was ${lostWords(incident)} at ${at(toMs)}, so it is unknown if it recovered.`
        : incident.closedBy !== undefined && !group
          ? `${plain(incident.closedBy)} closed it at ${at(toMs)} because no news came. It is unknown if it was over then.`
          : `It ended at ${at(toMs)}, after ${group || incident.flapping ? inWords(toMs - fromMs) : lasted(incident)}.`;
  const care = first
    ? `${plain(first.by)} acknowledged it ${inWords(first.atMs - fromMs)} after it began.`
    : 'Nobody acknowledged it.';
  return `${what} ${end} ${care} All times are UTC. Written at ${at(nowMs)}.`;
}

const withTarget = (incident: Incident) =>
  `${bold(incident.name, MAX_NAME)} (${plain(targetInWords(incident), MAX_TEXT)})`;

function membersInWords({ group, all }: ThreadIncident): string {
  const members = group?.members ?? [];
  const kept = new Map(all.map((incident) => [incident.id, incident]));
  const named = members.slice(0, MAX_SUMMED).map(({ incidentId, name }) => {
    const incident = kept.get(incidentId);
    return incident ? withTarget(incident) : bold(name, MAX_NAME);
  });
  const more = members.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function timeline(facts: PostmortemFacts, marks: readonly TimelineEntry[]): string {
  const { found, service, place, questions } = facts;
  const { incident, group } = found;
  const { openedAtMs, deliveries } = group ?? incident;
  const remindedAtMs = deliveries.find((one) => one.place === place)?.remindedAtMs;
  const entries: TimelineEntry[] = [
    ...findings(incident, service),
    ...(group ? ofMembers(found) : ofOne(incident)),
    { atMs: openedAtMs, text: 'Askwatch noticed it.' },
    ...(remindedAtMs === undefined
      ? []
      : [{ atMs: remindedAtMs, text: 'Last reminder posted in this channel.' }]),
    ...marks,
    ...notesOf(found).map(({ by, text, atMs }) => ({
      atMs,
      text: `${plain(by)} noted: “${plain(text, MAX_NOTE)}”`,
    })),
    ...questions.slice(-MAX_QUESTIONS).map(({ text, atMs }) => ({
      atMs,
      text: `Someone asked in the thread: “${plain(text, MAX_TEXT)}”`,
    })),
  ];
  const inOrder = entries.sort((a, b) => a.atMs - b.atMs);
  const lines = inOrder.map(({ atMs, text }) => `${at(atMs)}: ${text}`);
  const more = lines.length - MAX_FIRST - MAX_LAST;
  if (more <= 0) return listOf(lines);
  return listOf([
    ...lines.slice(0, MAX_FIRST),
    `… ${more} more lines not shown …`,
    ...lines.slice(-MAX_LAST),
  ]);
}

/** Changes in the results of checks. */
function findings(incident: Incident, { results = [] }: ServiceFacts): TimelineEntry[] {
  const { fromMs, toMs = Number.POSITIVE_INFINITY } = spanOf(incident);
  const own = results.filter(({ at: time }) => {
    const ms = Date.parse(time);
    return ms >= fromMs - CONFIRMED_WITHIN_MS && ms <= toMs + CONFIRMED_WITHIN_MS;
  });
  const firstFailed = own.findIndex(({ ok }) => !ok);
  if (firstFailed === -1) return [];
  const told = own
    .slice(Math.max(0, firstFailed - 1))
    .flatMap((one, index, after): TimelineEntry[] => {
      const before = after[index - 1];
      const isSame = before && before.ok === one.ok && before.reason === one.reason;
      const wasPassed = before?.ok === true && one.ok;
      if (isSame || wasPassed) return [];
      return [{ atMs: Date.parse(one.at), text: findingText(one, index === 0) }];
    });
  return told.length <= MAX_FINDINGS
    ? told
    : [...told.slice(0, MAX_FINDINGS - 1), ...told.slice(-1)];
}

function findingText(
  { ok, outcome, reason, response_time_ms: ms }: NonNullable<ServiceFacts['results']>[number],
  isFirst: boolean,
): string {
  if (ok)
    return `A check passed in ${inUnits(ms)}${isFirst ? ', the last one before the incident' : ''}.`;
  return `A check failed (${plain(outcome, 40)})${reason ? `: ${outside(reason)}` : ''}.`;
}

function ofOne(incident: Incident): TimelineEntry[] {
  const { flapping, startedAtMs, endedAtMs, endUnseenFromMs, status, gone, reason } = incident;
  const words = wordsOf(incident);
  const name = bold(incident.name, MAX_NAME);
  const why = reason ? `: ${outside(reason)}` : '';
  const begin = flapping
    ? [
        { atMs: flapping.fromMs, text: `${name} ${words.began} for the first time${why}.` },
        {
          atMs: flapping.changedAtMs,
          text: `Last change, to ${flapping.isDown ? words.status : incident.reported ? 'RESOLVED' : 'UP'}. It ${words.began} ${counted(flapping.downs, 'time')} until then.`,
        },
      ]
    : [{ atMs: startedAtMs, text: `${name} ${unseenBegin(incident)}${why}.` }];
  if (endedAtMs === undefined) return begin;
  const end = incident.reported
    ? reportedEnd(incident, name)
    : gone
      ? `${name} was removed and is no longer checked.`
      : endUnseenFromMs === undefined
        ? `${name} was ${plain(status, 40)} again.`
        : `${name} was ${plain(status, 40)} again. It was not checked from ${at(endUnseenFromMs)} on.`;
  return [...begin, { atMs: endedAtMs, text: end }];
}

function reportedEnd(
  { closedBy, gone }: Pick<Incident, 'closedBy' | 'gone'>,
  name: string,
): string {
  if (closedBy !== undefined) return `${plain(closedBy)} closed ${name}.`;
  return gone ? `${name} was no longer reported.` : `${name} was resolved.`;
}

function unseenBegin(incident: Incident): string {
  const { unseenFromMs, degraded } = incident;
  const became = `became ${plain(degraded ?? wordsOf(incident).status, 40)}`;
  if (unseenFromMs === undefined) return became;
  return unseenFromMs === 0
    ? `${became} some time before monitoring began`
    : `${became}, and was not checked from ${at(unseenFromMs)} until then`;
}

function ofMembers({ group }: ThreadIncident): TimelineEntry[] {
  const members = group?.members ?? [];
  const named = members.slice(0, MAX_NAMED).flatMap((member): TimelineEntry[] => {
    const { fromMs, toMs } = spanOf(member);
    const name = bold(member.name, MAX_NAME);
    const why = member.reason ? `: ${outside(member.reason)}` : '';
    const times = member.flapping?.downs ?? member.times;
    const often = times > 1 ? ` (${counted(times, 'time')} in all)` : '';
    const became = plain(member.degraded ?? wordsOf(member).status, 40);
    return compact<TimelineEntry>(
      { atMs: fromMs, text: `${name} became ${became}${often}${why}.` },
      toMs !== undefined && { atMs: toMs, text: memberEnd(member, name) },
    );
  });
  const others = members.slice(MAX_NAMED);
  if (others.length === 0) return named;
  const lastMs = others.reduce((ms, one) => Math.max(ms, spanOf(one).fromMs), 0);
  const { noun, status } = wordsOfAll(others);
  const text = `The last of ${counted(others.length, `more ${noun}`)} became ${status}; they are not listed individually.`;
  return [...named, { atMs: lastMs, text }];
}

function memberEnd(member: GroupMember, name: string): string {
  if (isReported(member)) return reportedEnd(member, name);
  return member.gone ? `${name} was removed.` : `${name} was ${plain(member.status, 40)} again.`;
}

/** One press may acknowledge many. */
function acknowledgements(all: readonly Incident[]): TimelineEntry[] {
  const said = all.flatMap(({ acknowledged }) => acknowledged ?? []);
  return [...groupBy(said, ({ by, atMs }) => `${atMs} ${by}`).values()].map((alike) => {
    const [{ by, atMs }] = alike;
    return { atMs, text: `${plain(by)} acknowledged ${ofAll(alike.length, all)}.` };
  });
}

function snoozes(all: readonly Incident[]): TimelineEntry[] {
  const said = all.flatMap(({ snoozed }) => snoozed ?? []);
  return [...groupBy(said, ({ by, untilMs }) => `${untilMs} ${by}`).values()].map((alike) => {
    const [{ by, untilMs }] = alike;
    const text = `${plain(by)} snoozed ${ofAll(alike.length, all)} until ${at(untilMs)}.`;
    return { atMs: untilMs - SNOOZE_MS, text };
  });
}

const ofAll = (count: number, all: readonly Incident[]) =>
  all.length === 1 ? 'it' : count === all.length ? `all ${count}` : `${count} of ${all.length}`;

function firstAcknowledged({ all }: ThreadIncident): Incident['acknowledged'] {
  return all.reduce<Incident['acknowledged']>(
    (first, { acknowledged: one }) =>
      one && one.atMs < (first?.atMs ?? one.atMs + 1) ? one : first,
    undefined,
  );
}

function notesOf({ group, incident }: ThreadIncident): Note[] {
  return [...(group?.notes ?? []), ...(incident.notes ?? [])];
}

function cause({ found, service, investigation }: PostmortemFacts): string[] {
  const { incident, group } = found;
  const own = ownAtService(incident, service);
  const compared = group?.members.slice(0, MAX_COMPARED) ?? [];
  const isCut = group !== undefined && compared.length < group.members.length;
  return compact(
    ...(group ? causesOf(compared) : ownCause(incident)),
    isCut && `Only the first ${compared.length} monitors were compared.`,
    own && `Type of failure for ${bold(incident.name, MAX_NAME)}: ${plain(own.outcome, 40)}.`,
    ...investigated(investigation),
    'Root cause unknown: Askwatch only sees the service from outside.',
  );
}

/** Lines of an investigation, up to its list of look-ups. They are inert already. */
function investigated(investigation: PostmortemFacts['investigation']): string[] {
  if (!investigation) return [];
  const { answer, atMs } = investigation;
  const [conclusion = ''] = answer.split('\n## ', 1);
  const lines = conclusion.split('\n').filter((line) => line.trim() !== '');
  return [
    `Askwatch investigated at ${at(atMs)}. No person confirmed its result:`,
    ...lines.slice(0, MAX_NAMED).map((line) => line.replace(/^- /, '')),
  ];
}

const causesOf = (members: readonly GroupMember[]) =>
  [...groupBy(members, ({ reason = '' }) => reason).entries()]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, MAX_HOSTS)
    .map(([reason, alike]) => {
      const count = counted(alike.length, wordsOfAll(alike).noun);
      return reason === ''
        ? `No cause was given for ${count}.`
        : `According to ${sourceOf(alike)} for ${count}: ${outside(reason)}`;
    });

const ownCause = (incident: Incident) => [
  incident.reason
    ? `According to ${sourceOf([incident])}: ${outside(incident.reason)}`
    : noCause(incident),
  ...(incident.reported?.facts ?? [])
    .slice(0, MAX_NAMED)
    .map(({ label, value }) => `${plain(label)}: ${outside(value)}`),
];

const noCause = ({ reported }: Incident) =>
  `${reported ? 'The sender' : 'The checks'} gave no cause.`;

const sourceOf = (all: Parameters<typeof wordsOfAll>[0]) =>
  all.every(isReported) ? 'the sender' : all.some(isReported) ? 'checks and senders' : 'the checks';

const ownAtService = (
  { change, startedAtMs }: Incident,
  { incidents }: Pick<ServiceFacts, 'incidents'>,
) =>
  incidents?.incidents.find((one) =>
    change === undefined ? Date.parse(one.started_at) === startedAtMs : one.change === change,
  );

function effect({ found, service, nowMs }: PostmortemFacts): string[] {
  const { incident, group } = found;
  return [
    ...(group ? membersEffect(group.members, nowMs) : [ownEffect(incident, nowMs)]),
    ...(incident.reported
      ? []
      : [checksEffect(incident, service), uptimeEffect(incident, service)]),
    'User impact: not known to Askwatch.',
  ];
}

function ownEffect(incident: Incident, nowMs: number): string {
  const { target, checkType, endedAtMs, flapping } = incident;
  const { fromMs } = spanOf(incident);
  const long = flapping
    ? `${wordsOf(incident).times} ${counted(flapping.downs, 'time')} in ${inWords((endedAtMs ?? nowMs) - fromMs)}`
    : `${plain(incident.degraded ?? wordsOf(incident).status, 40)} for ${lasted(incident, endedAtMs ?? nowMs)}`;
  return `${bold(incident.name, MAX_NAME)} (${plain(checkType, 40)}, ${plain(shownTarget(target), MAX_TEXT)}): ${long}${endedAtMs === undefined ? ' so far' : ''}.`;
}

function membersEffect(
  members: NonNullable<ThreadIncident['group']>['members'],
  nowMs: number,
): string[] {
  const named = members.slice(0, MAX_NAMED).map((member) => {
    const { fromMs, toMs } = spanOf(member);
    const long = member.flapping
      ? inWords((toMs ?? nowMs) - fromMs)
      : lasted(member, toMs ?? nowMs);
    const so = toMs === undefined ? ' so far' : member.gone ? ' until it was removed' : '';
    return `${bold(member.name, MAX_NAME)}: ${long}${so}.`;
  });
  const more = members.length - named.length;
  return more > 0 ? [...named, `${more} more, not listed here.`] : named;
}

function checksEffect(incident: Incident, { results }: ServiceFacts): string {
  const name = bold(incident.name, MAX_NAME);
  if (!results) return `The checks of ${name} could not be fetched.`;
  const { fromMs, toMs = Number.POSITIVE_INFINITY } = spanOf(incident);
  const own = results.filter(
    ({ at: time }) => Date.parse(time) >= fromMs && Date.parse(time) < toMs,
  );
  const failed = own.filter(({ ok }) => !ok).length;
  const [oldest] = results;
  const isWhole = oldest !== undefined && Date.parse(oldest.at) <= fromMs;
  if (own.length === 0) return `No checks of ${name} are kept from that time.`;
  return `${failed} of ${counted(own.length, 'check')} of ${name} failed in that time${isWhole ? '' : '; older checks are no longer kept'}.`;
}

function uptimeEffect(incident: Incident, { uptime }: ServiceFacts): string {
  const name = bold(incident.name, MAX_NAME);
  if (!uptime) return `The uptime of ${name} could not be fetched.`;
  if (uptime.uptime === null)
    return `The uptime of ${name} is unknown: it was not checked in that time.`;
  const [fromMs, toMs] = [Date.parse(uptime.from), Date.parse(uptime.to)];
  const watchedMs = toMs - fromMs - uptime.unseen_ms;
  const watched = uptime.unseen_ms >= 60_000 ? ` (watched for ${inWords(watchedMs)})` : '';
  return `Uptime of ${name} from ${at(fromMs)} to ${at(toMs)}: ${percentText(uptime.uptime)}${watched}.`;
}

function people({ found, questions }: PostmortemFacts, marks: readonly TimelineEntry[]): string[] {
  const { deliveries } = found.group ?? found.incident;
  const dead = countDead(found);
  const posted = deliveries.filter((one) => one.posted !== undefined).length;
  const notes = notesOf(found);
  return compact(
    `The alert was posted in ${counted(posted, 'channel')}${dead > 0 ? ` and failed in ${counted(dead, 'channel')}` : ''}.`,
    marks.length === 0 && 'Nobody acknowledged or snoozed it.',
    ...marks.map(({ atMs, text }) => `${at(atMs)}: ${text}`).slice(0, MAX_NAMED),
    notes.length === 0 && 'No notes were added.',
    ...notes.map(({ by, text, atMs }) => `${at(atMs)}: ${plain(by)}: “${plain(text, MAX_NOTE)}”`),
    questions.length > 0 &&
      `${counted(questions.length, 'question')} asked in the thread: see the timeline.`,
  );
}

const countDead = ({ group, incident }: ThreadIncident) =>
  (group ?? incident).deliveries.filter((one) => one.dead !== undefined).length;

function openQuestions({ found, service }: PostmortemFacts): string[] {
  const { incident, group } = found;
  const members = group?.members ?? [incident];
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined).length;
  const gone = members.filter((one) => one.gone).length;
  const flapped = members.filter((one) => one.flapping || ('times' in one && one.times > 1)).length;
  const unseen = members.filter(
    (one) => one.unseenFromMs !== undefined || one.endUnseenFromMs !== undefined,
  ).length;
  const isUnknown = members.every(({ reason }) => !reason);
  const dead = countDead(found);
  const stillOpen = group
    ? `${counted(open, wordsOfAll(members).noun)} of ${members.length} were still ongoing. When will they recover?`
    : 'It was still ongoing. When will it recover?';
  return compact(
    open > 0 && stillOpen,
    `What was the root cause?${isUnknown ? ` ${noCause(incident)}` : ''}`,
    notesOf(found).length === 0 && 'What fixed it? No notes were added.',
    !firstAcknowledged(found) && 'Nobody acknowledged it. Who handled it, and how did they notice?',
    flapped > 0 &&
      `Why did ${flapped === 1 ? 'it' : `${flapped} of them`} recover in between and fail again?`,
    ...hostQuestions(found),
    unseen > 0 &&
      `When exactly did ${group ? `${unseen} of them` : 'it'} begin or end? Not all of the time was checked.`,
    gone > 0 &&
      `Did ${group ? `the ${gone} that were removed` : 'it'} recover? No checks run anymore.`,
    ...earlierQuestion(incident, service),
    dead > 0 && `Why did the alert fail in ${counted(dead, 'channel')}?`,
    'How do we prevent this, or detect it sooner?',
  );
}

/** Members may have a host in common. */
function hostQuestions({ group, all }: ThreadIncident): string[] {
  if (!group || group.members.length < 2) return [];
  if (all.length > MAX_COMPARED)
    return ['What do the services that failed together have in common?'];
  const monitors = all.filter(({ reported }) => !reported);
  const shared = [...groupBy(monitors, ({ target }) => hostOf(target)).entries()]
    .filter(([host, alike]) => host !== '' && alike.length > 1)
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, MAX_HOSTS);
  if (shared.length === 0) return ['What do the services that failed together have in common?'];
  return shared.map(
    ([host, alike]) => `What happened at ${plain(host)}? ${alike.length} of the monitors check it.`,
  );
}

function earlierQuestion(incident: Incident, { incidents }: ServiceFacts): string[] {
  if (!incidents) return ['Has it happened before? Its earlier incidents could not be fetched.'];
  const own = ownAtService(incident, { incidents });
  const { fromMs } = spanOf(incident);
  const earlier = incidents.incidents.filter(
    (one) => one !== own && Date.parse(one.started_at) < fromMs,
  );
  const [last] = earlier;
  if (!last) return [];
  const count = `${incidents.complete ? '' : 'at least '}${counted(earlier.length, 'time')}`;
  return [
    `Is this a repeat? ${bold(incident.name, MAX_NAME)} went down ${count} in the ${BEFORE_DAYS} days before, last at ${at(Date.parse(last.started_at))}: ${outside(last.cause)}`,
  ];
}

function began(incident: Incident): string {
  const { startedAtMs, unseenFromMs } = incident;
  if (unseenFromMs === undefined) return at(startedAtMs);
  return unseenFromMs === 0
    ? `some time before ${at(startedAtMs)}, when monitoring began,`
    : `some time between ${at(unseenFromMs)} and ${at(startedAtMs)}`;
}

const at = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Text from a check, without secrets in its addresses. */
const outside = (text: string) => plain(maskedText(text.slice(0, 2 * MAX_TEXT)), MAX_TEXT);
