import { behindInWords } from '../incidents/dependencies.ts';
import { changesOf, FLAPPING_MS } from '../incidents/flapping.ts';
import { outagesOf } from '../incidents/groups.ts';
import { latencyFacts } from '../incidents/latency.ts';
import type {
  Alert,
  Delivery,
  Group,
  Incident,
  MonitoringOutage,
  Note,
  ReportDetails,
  Silence,
  SilenceEnd,
  Snooze,
} from '../incidents/watch-state.ts';
import {
  type Card,
  type CardAction,
  type CardPart,
  type Fact,
  linkOf,
  textCard,
  textPart,
} from '../shared/card.ts';
import { downWord, isDown, isUp } from '../shared/status.ts';
import { shownTarget, targetLink } from '../shared/target-link.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';
import { isReported, wordsOf, wordsOfAll } from './alert-words.ts';

/** What decides how an alert is told, besides what it is. */
interface Telling extends Pick<Delivery, 'earlier' | 'shownOpen'> {
  /** It is a line under a message that said it before: it still is so. */
  isLine?: boolean;
  /** The incident of a message about several that is about one, if it is still known: all its facts are shown. */
  incident?: Incident | undefined;
}

type Member = Group['members'][number];

/** What a place is to see of an alert now. Pure. */
export function alertCard(alert: Alert, telling: Telling): Card {
  if (alert.kind === 'notice') {
    return textCard(alert.endedAtMs === undefined ? 'warning' : 'good', alert.title, alert.text);
  }
  if (alert.kind === 'report') return alert.card;
  if (alert.kind === 'blindness') return monitoringOutageCard(alert);
  return alert.kind === 'group' ? groupCard(alert, telling) : incidentCard(alert, telling);
}

/** The one line under a message of something that is over, or still goes on. Pure. */
export function lineCard(alert: Alert, line: NonNullable<Delivery['line']>): Card {
  const { tone, title } = alertCard(alert, { shownOpen: true, isLine: true });
  if (line.what === 'escalation') {
    return { tone, title: `${title}, and nobody has acknowledged it`, parts: [] };
  }
  return { tone, title: `${title}${lineEnd(alert, line)}`, parts: [] };
}

/** What was told before is known by now, but not how long it took. */
function lineEnd(alert: Alert, { atMs }: NonNullable<Delivery['line']>): string {
  if (alert.kind === 'notice' || alert.kind === 'report') return '';
  if ('gone' in alert && alert.gone) return '';
  // What flapped says by itself for how long.
  const one = alert.kind === 'group' ? onlyMember(alert) : alert;
  if (one && 'flapping' in one && one.flapping) return '';
  const untilMs = alert.endedAtMs ?? atMs;
  const words = lasted(alert.kind === 'group' ? groupTimes(alert) : alert, untilMs);
  return alert.endedAtMs === undefined ? `, for ${words} now` : ` after ${words}`;
}

function monitoringOutageCard({ startedAtMs, endedAtMs, why }: MonitoringOutage): Card {
  if (endedAtMs === undefined) {
    return {
      tone: 'warning',
      title: 'Askwatch cannot see the monitors',
      parts: [
        { kind: 'facts', facts: [{ label: 'Since', value: { atMs: startedAtMs } }] },
        textPart(`${why} Until it sees them again, nobody is told of outages.`),
      ],
    };
  }
  return {
    tone: 'good',
    title: 'Askwatch sees the monitors again',
    parts: [
      {
        kind: 'facts',
        facts: [
          { label: 'Blind from', value: { atMs: startedAtMs } },
          { label: 'Blind to', value: { atMs: endedAtMs } },
          { label: 'Duration', value: inWords(endedAtMs - startedAtMs) },
        ],
      },
      textPart('What went down meanwhile, and still is, is told now.'),
    ],
  };
}

function incidentCard(incident: Incident, telling: Telling): Card {
  const { target, checkType, reason, acknowledged, snoozed, reported } = incident;
  const link = reported ? reportedLink(reported) : targetLink(incident);
  const text = hasFlapped(incident) ? flappingText(incident) : undefined;
  const facts: Fact[] = [
    reported
      ? { label: 'Reported by', value: shortened(target, 100) }
      : { label: 'Target', value: shortened(shownTarget(target), 300) },
    ...noNewsFacts(incident),
    ...(hasFlapped(incident)
      ? flappingFacts(incident)
      : [...beginFacts(incident), ...endFacts(incident)]),
    ...(reason ? [{ label: 'Cause', value: shortened(reason, 500) }] : []),
    ...latencyFacts(incident),
    ...behindFacts(incident),
    ...(reported ? reportedFacts(reported) : [{ label: 'Kind', value: checkType }]),
    ...earlierFacts(telling.earlier, incident),
    ...(acknowledged ? [{ label: 'Acknowledged by', value: acknowledged.by }] : []),
    ...(snoozed ? [snoozeFact(snoozed)] : []),
    ...silenceFacts([incident]),
    ...noteFacts(incident),
  ];
  return {
    ...headline(incident, telling),
    parts: [
      ...(text ? [textPart(text)] : []),
      { kind: 'facts', facts },
      ...truncatedParts([reported ?? {}]),
    ],
    actions: actionsOf(incident),
    ...(link && { link }),
    // Tells two messages about one outage from two outages.
    footer: `Incident ${incident.id.slice(0, 8)} · ${NOTE_HINT}`,
  };
}

/** Facts of a sender that are shown; the others are counted. */
const SHOWN_FACTS = 12;
const SHOWN_LINKS = 3;

/** Room for a link's own words on its button, beside where it leads. */
const MAX_LINK_LABEL_LENGTH = 24;
const MAX_HOST_LENGTH = 40;

/** The first link of a sender, with where it leads: its words alone could say anything. */
function reportedLink({ links }: ReportDetails): Card['link'] {
  const [first] = links;
  if (!first || !URL.canParse(first.url)) return undefined;
  const host = shortened(new URL(first.url).host, MAX_HOST_LENGTH);
  const words = shortened(first.label, MAX_LINK_LABEL_LENGTH);
  const label = words === host ? `Open ${host}` : `${words}: ${host}`;
  return linkOf({ link: { label, url: first.url } });
}

/** What the sender says besides. */
function reportedFacts({ facts, factsLeftOut = 0, links }: ReportDetails): Fact[] {
  const more = Math.max(0, facts.length - SHOWN_FACTS) + factsLeftOut;
  return [
    ...facts.slice(0, SHOWN_FACTS).map(({ label, value }) => ({
      label: shortened(label, 60),
      value: shortened(value, 200),
    })),
    ...(more > 0 ? [{ label: 'More', value: `${counted(more, 'fact')} not shown here` }] : []),
    ...links.slice(1, 1 + SHOWN_LINKS).map(({ label, url }) => ({
      label: shortened(label, 60),
      value: shortened(url, 300),
    })),
  ];
}

/** Since when nothing was heard of it, which is not that it is over. */
function noNewsFacts({ endedAtMs, reported }: Pick<Incident, 'endedAtMs' | 'reported'>): Fact[] {
  const { silentSinceMs: atMs } = reported ?? {};
  return endedAtMs !== undefined || atMs === undefined
    ? []
    : [{ label: 'No news since', value: { atMs } }];
}

/** That a sender left some out, of which nothing is known here. */
function truncatedParts(all: ReadonlyArray<Pick<ReportDetails, 'truncated'>>): CardPart[] {
  const most = all.reduce((max, { truncated = 0 }) => Math.max(max, truncated), 0);
  return most === 0
    ? []
    : [textPart(`The sender left out ${most} more, of which Askwatch knows nothing.`)];
}

function headline(incident: Incident, telling: Telling): Pick<Card, 'tone' | 'title'> {
  const { shownOpen, earlier, isLine } = telling;
  const name = shortened(incident.name, 100);
  const status = shortened(incident.status, 40);
  const { degraded, closedBy, reported } = incident;
  const words = wordsOf(incident);
  if (closedBy !== undefined) return { tone: 'info', title: `${name} was closed by ${closedBy}` };
  if (incident.endedAtMs === undefined && reported?.silentSinceMs !== undefined) {
    return { tone: 'warning', title: `${name} was ${status} when it was heard of last` };
  }
  if (hasFlapped(incident)) return flappingHeadline(incident, telling);
  if (incident.gone) return { tone: 'info', title: `${name} is ${words.lost}` };
  if (incident.endedAtMs !== undefined && degraded !== undefined) {
    const again = reported ? '' : ' again';
    return isDown(incident)
      ? { tone: 'warning', title: `${name} was ${degraded}, and then ${status}` }
      : { tone: 'good', title: `${name} is ${status}${again}, and was ${degraded}` };
  }
  if (incident.endedAtMs !== undefined) {
    const was = shownOpen ? words.recovered : wasDown(incident, earlier);
    return { tone: 'good', title: `${name} ${was}` };
  }
  return {
    tone: isDown(incident) ? 'bad' : 'warning',
    title: `${name} is ${isLine ? 'still ' : ''}${status}`,
  };
}

/** For those who hear of an outage when it is over: it must be true when it is read. */
function wasDown(incident: Incident, earlier: Delivery['earlier']) {
  const { was } = wordsOf(incident);
  return earlier
    ? `${was} ${counted(earlier.count + 1, 'time')}`
    : `${was} for ${lasted(incident)}`;
}

/** When an outage began and ended, as far as it was seen. */
type Times = Pick<Incident, 'startedAtMs' | 'endedAtMs' | 'unseenFromMs' | 'endUnseenFromMs'>;

/** `Down`, or what else it was. */
const troubleOf = (incident: Incident) =>
  incident.degraded === undefined || incident.reported
    ? capitalised(wordsOf(incident).label)
    : 'Degraded';

const capitalised = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** How long an outage took, or takes until `untilMs`; what was not seen makes it a bound. Pure. */
export function lasted(times: Times, untilMs = times.endedAtMs ?? times.startedAtMs): string {
  const { startedAtMs, unseenFromMs, endUnseenFromMs } = times;
  if (unseenFromMs === undefined) {
    const words = inWords(untilMs - startedAtMs);
    return endUnseenFromMs === undefined ? words : `at most ${words}`;
  }
  if (endUnseenFromMs === undefined) return `at least ${inWords(untilMs - startedAtMs)}`;
  return unseenFromMs === 0
    ? `at least ${inWords(endUnseenFromMs - startedAtMs)}`
    : `at most ${inWords(untilMs - unseenFromMs)}`;
}

function beginFacts(incident: Incident): Fact[] {
  const { startedAtMs, endedAtMs, unseenFromMs, foundAtStart } = incident;
  if (unseenFromMs === 0) return [{ label: 'Down since', value: 'before Askwatch watched' }];
  if (unseenFromMs !== undefined) {
    const began = incident.degraded === undefined ? 'Went down' : 'Began';
    return [
      { label: `${began} after`, value: { atMs: unseenFromMs } },
      { label: `${began} before`, value: { atMs: startedAtMs } },
      { label: 'Noticed late', value: 'Askwatch was not watching in between' },
    ];
  }
  const goesOn = endedAtMs === undefined && (isDown(incident) || incident.degraded !== undefined);
  return [
    { label: goesOn ? 'Since' : `${troubleOf(incident)} from`, value: { atMs: startedAtMs } },
    ...(foundAtStart ? [{ label: 'Noticed', value: 'when Askwatch began to watch' }] : []),
  ];
}

function endFacts(incident: Incident): Fact[] {
  const { endedAtMs, endUnseenFromMs, gone } = incident;
  if (endedAtMs === undefined) return [];
  if (gone) return [{ label: 'Watched until', value: { atMs: endedAtMs } }];
  if (incident.closedBy !== undefined) return [{ label: 'Closed', value: { atMs: endedAtMs } }];
  const duration = { label: 'Duration', value: lasted(incident) };
  if (endUnseenFromMs === undefined) {
    return [{ label: `${troubleOf(incident)} to`, value: { atMs: endedAtMs } }, duration];
  }
  return [
    { label: 'Recovered after', value: { atMs: endUnseenFromMs } },
    { label: 'Recovered before', value: { atMs: endedAtMs } },
    duration,
  ];
}

/** Who is in trouble because of it. */
function behindFacts(incident: Incident): Fact[] {
  const names = behindInWords(incident);
  if (names === undefined) return [];
  const isOver = incident.endedAtMs !== undefined;
  return [{ label: isOver ? 'Was down behind it' : 'Also down behind it', value: names }];
}

function earlierFacts(earlier: Delivery['earlier'], incident: Incident): Fact[] {
  if (!earlier) return [];
  const { label } = wordsOf(incident);
  return [
    { label: `Also ${label} before`, value: counted(earlier.count, 'time') },
    { label: `First ${label}`, value: { atMs: earlier.fromMs } },
  ];
}

/** Members that are named; the others are counted. */
const NAMED = 20;

/** It stays true when more begins. */
const MISSED = 'This channel took no messages for a while, so some of this is told late.';

/** What a place is to see of outages that began together. Pure. */
function groupCard(group: Group, telling: Telling): Card {
  const { members } = group;
  const { open } = standing(members);
  const only = telling.incident && incidentCard(withNotesOf(telling.incident, group), telling);
  const late = lateWords(members);
  const about: Card = {
    tone: toneOf(group),
    title:
      group.quiet === undefined || telling.isLine
        ? `${group.escalation && open.length > 0 && !telling.isLine ? 'Escalated: ' : ''}${groupTitle(group, telling)}`
        : `While it was quiet (${group.quiet}): ${digestTitle(group)}`,
    parts: [
      ...escalationParts(group),
      ...(only ? [...only.parts, ...timesParts(members)] : memberParts(group, telling)),
      ...(late && !only ? [textPart(late)] : []),
      ...(group.missed ? [textPart(MISSED)] : []),
    ],
    footer: `Incident ${group.id.slice(0, 8)} · ${NOTE_HINT}`,
    actions: actionsOf(group),
  };
  if (!telling.incident || !only) return about;
  const actions = actionsOf(telling.incident, group.id);
  return { ...about, actions, ...(only.link && { link: only.link }) };
}

/** Its notes, and those of the message that it is alone in. */
const withNotesOf = (incident: Incident, { notes = [] }: Group): Incident => ({
  ...incident,
  notes: [...(incident.notes ?? []), ...notes],
});

/** How often the one that a message is about was down, if the message is about more than its last time. */
function timesParts([member]: readonly Member[]): CardPart[] {
  if (!member || hasFlapped(member) || member.times < 2) return [];
  return [{ kind: 'facts', facts: [{ label: 'Outages', value: String(member.times) }] }];
}

function escalationParts({ escalation, members }: Group): CardPart[] {
  if (!escalation) return [];
  const { afterMs, called } = escalation;
  const it = members.length === 1 ? 'it' : 'this';
  return [
    textPart(
      `Nobody acknowledged ${it} within ${inWords(afterMs)} where it was told first${called === undefined ? '' : `, so ${called} is called`}.`,
    ),
  ];
}

/** The members of a message about several. */
function memberParts(group: Group, telling: Telling): CardPart[] {
  const { members } = group;
  const { open } = standing(members);
  const over = members.filter(({ endedAtMs }) => endedAtMs !== undefined);
  const more = members.length - NAMED;
  const stillDown = open.length - NAMED;
  const named = [...open, ...over].slice(0, NAMED).map((member) => factOf(member, telling));
  return [
    {
      kind: 'facts',
      facts: [...named, ...snoozeFacts(members), ...silenceFacts(members), ...noteFacts(group)],
    },
    ...(more > 0
      ? [
          textPart(
            `… and ${more} more${stillDown > 0 && stillDown < more ? `, of which ${stillDown} ${areOf(stillDown)} ${stillWords(members)}` : ''}.${members.every(isReported) ? '' : ` /monitor list shows all${members.some(isReported) ? ' monitors' : ''}.`}`,
          ),
        ]
      : []),
    ...truncatedParts(members),
  ];
}

function toneOf({ members }: Group): Card['tone'] {
  const { open } = standing(members);
  if (open.some(({ degraded }) => degraded === undefined)) return 'bad';
  if (open.length > 0) return 'warning';
  if (members.every(({ gone, closedBy }) => gone || closedBy !== undefined)) return 'info';
  return members.some(isNotBack) ? 'warning' : 'good';
}

/** How many of them go on, are down, and so on. */
function standing(members: readonly Member[]) {
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  const gone = members.filter((member) => member.gone).length;
  const closed = members.filter(({ closedBy }) => closedBy !== undefined).length;
  const notBack = members.filter(isNotBack).length;
  const back = members.length - open.length - gone - closed - notBack;
  return { open, areDown: open.filter(isDown), gone, closed, notBack, back };
}

/** What those are that go on, in one word. */
const stillWords = (members: readonly Member[]) =>
  members.every(isReported) ? 'firing' : members.some(isReported) ? 'not over' : 'down';

/** It flapped, or was no outage yet, and what became of it then is told elsewhere. */
const isNotBack = (member: Member) =>
  (member.flapping !== undefined || member.degraded !== undefined) &&
  !member.gone &&
  member.closedBy === undefined &&
  member.endedAtMs !== undefined &&
  !isUp(member);

/** The one that a group is about, if it is about one. */
function onlyMember({ members }: Group): Member | undefined {
  return members.length === 1 ? members[0] : undefined;
}

/** What there is to say of outages that began together. */
function groupTitle(group: Group, telling: Telling): string {
  const { members } = group;
  const { shownOpen, isLine } = telling;
  const { open, areDown, gone, closed, notBack, back } = standing(members);
  const still = isLine ? 'still ' : '';
  const count = members.length;
  const words = wordsOfAll(members);
  const only = onlyMember(group);
  if (only) {
    if (only.closedBy !== undefined) {
      return `${shortened(only.name, 100)} was closed by ${only.closedBy}`;
    }
    if (hasFlapped(only)) return flappingHeadline(only, telling).title;
    const name = shortened(only.name, 100);
    if (open.length > 0) return `${name} is ${still}${shortened(only.status, 40)}`;
    // What is no longer watched has not recovered as far as anyone knows.
    if (gone > 0) return `${name} is ${words.lost}`;
    if (only.degraded !== undefined) {
      return `${name} was ${only.degraded} and is ${shortened(only.status, 40)}`;
    }
    return shownOpen ? `${name} ${words.recovered}` : `${name} ${words.was}`;
  }
  if (areDown.length === count) return `${count} ${words.noun}s are ${still}${downWord(areDown)}`;
  if (group.degraded && open.length === count) {
    return `${count} ${words.noun}s are ${still}${sharedWord(members) ?? words.notBack}`;
  }
  if (open.length > 0) return openTitle(members, still);
  if (gone === count) return `${count} ${words.noun}s are ${words.lost}`;
  if (closed === count) return `${count} ${words.noun}s were closed`;
  const others = [
    ...(notBack > 0 ? [`${notBack} ${words.notBack}`] : []),
    ...(closed > 0 ? [`${closed} closed`] : []),
    ...(gone > 0 ? [`${gone} ${words.lost}`] : []),
  ];
  if (back === 0 && closed === 0) {
    return `${notBack} of ${count} ${words.noun}s ${areOf(notBack)} ${words.notBack}`;
  }
  if (back === 0) return `Of ${count} ${words.noun}s ${others.join(', ')}`;
  const were = shownOpen ? words.recovered : wereOf(members, back);
  return [`${counted(back, words.noun)} ${were}`, ...others].join(', ');
}

function openTitle(members: readonly Member[], still: string) {
  const { open, areDown } = standing(members);
  const down = areDown.length;
  const words = wordsOfAll(members);
  const of = `of ${members.length} ${words.noun}s`;
  if (down > 0) return `${down} ${of} ${areOf(down)} ${still}${downWord(areDown)}`;
  const flapping = open.filter(hasFlapped).length;
  if (flapping < open.length) {
    return `${open.length} ${of} ${areOf(open.length)} ${still}${words.notBack}`;
  }
  return `${flapping} ${of} ${still}${flapping === 1 ? words.flaps : words.flapMany}`;
}

/** What some were that are over, for those who hear of it only now. */
function wereOf(members: readonly Member[], count: number): string {
  if (members.every(isReported)) return wordsOfAll(members).was;
  return `${count === 1 ? 'was' : 'were'} ${troubleOfAll(members)}`;
}

/** The word of all, where it is the same, as it stands. */
function sharedWord(members: readonly Member[]): string | undefined {
  const [first] = members;
  const isSame = members.every(({ status }) => status === first?.status);
  return first && isSame ? shortened(first.status, 40) : undefined;
}

/** What they were: down, or what is no outage. */
function troubleOfAll(members: readonly Member[]): string {
  const degraded = members.filter((member) => member.degraded !== undefined).length;
  if (degraded === 0) return 'down';
  return degraded === members.length ? 'degraded' : 'not UP';
}

const areOf = (count: number) => (count === 1 ? 'is' : 'are');

/** What the quiet hours of a place left of the outages that began in them. */
function digestTitle({ members }: Group): string {
  const [only, ...others] = members;
  const { open, areDown, gone, closed, notBack, back } = standing(members);
  const down = areDown.length;
  const words = wordsOfAll(members);
  const flapping = open.filter((one) => one.flapping && isUp(one)).length;
  if (only && others.length === 0) {
    const name = shortened(only.name, 100);
    if (only.closedBy !== undefined) return `${name} was closed by ${only.closedBy}`;
    if (down > 0) return `${name} ${words.began} and is still ${downWord(areDown)}`;
    if (flapping > 0) return `${name} ${words.flaps}`;
    if (isReported(only) && back > 0) return `${name} ${words.back}`;
    const was = only.degraded ?? 'down';
    if (open.length > 0 && only.degraded !== undefined) {
      return `${name} is ${shortened(only.status, 40)}`;
    }
    if (open.length > 0) return `${name} ${words.was} and is now ${shortened(only.status, 40)}`;
    return `${name} was ${was} and is ${gone > 0 ? words.lost : notBack > 0 ? `${words.notBack} yet` : words.areBack}`;
  }
  const all = members.length === 2 ? 'both' : 'all';
  const parts = [
    { count: back, are: words.areBack },
    { count: down, are: `still ${downWord(areDown)}` },
    { count: flapping, are: words.flapping },
    { count: open.length - down - flapping + notBack, are: `${words.notBack} yet` },
    { count: closed, are: 'closed' },
    { count: gone, are: words.lost },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, are }) =>
      count === members.length ? `${all} are ${are}` : `${count} ${areOf(count)} ${are}`,
    );
  return `${members.length} ${words.noun}s ${wereOf(members, members.length)}, ${parts.join(', ')}`;
}

/** The times of what goes on longest of it, or of all of it when it is over. Pure. */
function groupTimes({ members, openedAtMs: startedAtMs }: Group): Times {
  const { open } = standing(members);
  return open.toSorted((a, b) => a.startedAtMs - b.startedAtMs)[0] ?? { startedAtMs };
}

function factOf(member: Member, telling: Telling): Fact {
  const { name, status, endedAtMs, reason, gone, times, acknowledged, behind, closedBy } = member;
  const words = wordsOf(member);
  const by = acknowledged ? [`acknowledged by ${acknowledged}`] : [];
  if (closedBy !== undefined)
    return { label: shortened(name, 100), value: `closed by ${closedBy}` };
  if (endedAtMs === undefined && member.silentSinceMs !== undefined) {
    const since = `no news since ${new Date(member.silentSinceMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const value = [`was ${shortened(status, 40)}`, since, ...by].join(', ');
    return { label: shortened(name, 100), value };
  }
  if (hasFlapped(member)) {
    const all = outagesOf(member);
    const value = [
      flappingMember(member, telling),
      // Some of it was before it flapped.
      ...(all > member.flapping.downs ? [`${words.times} ${counted(all, 'time')} in all`] : []),
      ...by,
    ];
    return { label: shortened(name, 100), value: value.join(', ') };
  }
  const was = member.degraded === undefined ? words.was : `was ${member.degraded}`;
  const told = gone
    ? [words.lost]
    : [
        endedAtMs === undefined
          ? `${shortened(status, 40)}${reason ? `: ${shortened(reason, 200)}` : ''}`
          : `${was} for ${lasted(member)}`,
        ...(times > 1 ? [`${words.times} ${counted(times, 'time')}`] : []),
        ...(behind !== undefined && endedAtMs === undefined
          ? [`${counted(behind, 'monitor')} behind it`]
          : []),
        ...by,
      ];
  return { label: shortened(name, 100), value: told.join(', ') };
}

/** What is to be said of outages told together that were not seen to begin. Pure. */
function lateWords(
  all: ReadonlyArray<Pick<Incident, 'unseenFromMs' | 'foundAtStart'>>,
): string | undefined {
  const count = (late: typeof all) => (late.length === all.length ? 'All' : `${late.length}`);
  const atStart = all.filter(({ foundAtStart }) => foundAtStart);
  const inGap = all.filter(({ unseenFromMs = 0 }) => unseenFromMs > 0);
  const words = [
    ...(atStart.length > 0 ? [`${count(atStart)} found when Askwatch began to watch.`] : []),
    ...(inGap.length > 0 ? [`${count(inGap)} noticed late: Askwatch was not watching.`] : []),
  ];
  return words.length === 0 ? undefined : words.join(' ');
}

/** What is told of a monitor that flaps, in a message of its own or in one about several. */
type FlappingView = Pick<Member, 'name' | 'status' | 'endedAtMs' | 'gone' | 'isReported'> & {
  flapping: NonNullable<Member['flapping']>;
  reported?: Incident['reported'];
};

const hasFlapped = <T extends Pick<Member, 'flapping'>>(told: T): told is T & FlappingView =>
  told.flapping !== undefined;

/** What people are to expect of it. */
const flappingQuiet = (told: FlappingView) =>
  `stays quiet here until it stays ${wordsOf(told).status}, or is calm for ${inWords(FLAPPING_MS)}`;

/** What a message of its own says besides: what to expect, or where to look. */
function flappingText(told: FlappingView) {
  const { status, endedAtMs, gone } = told;
  if (endedAtMs === undefined) return `It ${flappingQuiet(told)}.`;
  if (gone || !isDown({ status })) return undefined;
  return 'It did not come back: that outage is told in a message of its own below.';
}

/** `5 changes in 3 minutes` */
export const changesInWords = (flapping: FlappingView['flapping']) =>
  `${counted(changesOf(flapping), 'change')} in ${spanOf(flapping)}`;

/** `down 7 times in 34 minutes` */
const downsInWords = (told: FlappingView, word = wordsOf(told).times) =>
  `${word} ${counted(told.flapping.downs, 'time')} in ${spanOf(told.flapping)}`;

const spanOf = ({ fromMs, changedAtMs }: FlappingView['flapping']) => inWords(changedAtMs - fromMs);

/** The words of a message about nothing but what flaps, or did; or of a line under it, that it still does. */
function flappingHeadline(
  told: FlappingView,
  { shownOpen, isLine }: Telling,
): Pick<Card, 'tone' | 'title'> {
  const { flapping, endedAtMs, gone } = told;
  const words = wordsOf(told);
  const name = shortened(told.name, 100);
  const status = shortened(told.status, 40);
  if (gone) return { tone: 'info', title: `${name} is ${words.lost}` };
  if (endedAtMs === undefined) {
    const isOn = isUp(told) || isDown(told);
    const still = isLine ? 'still ' : '';
    return {
      tone: isDown(told) ? 'bad' : 'warning',
      title: isOn
        ? `${name} ${still}${words.flaps}: ${changesInWords(flapping)}, now ${status}`
        : `${name} is ${still}${status} after ${changesInWords(flapping)}`,
    };
  }
  if (isUp(told)) {
    const downs = shownOpen
      ? `is calm again: ${downsInWords(told)}`
      : downsInWords(told, words.was);
    return { tone: 'good', title: `${name} ${downs}` };
  }
  const then = isDown(told) ? `stayed ${status}` : `was ${status}`;
  return { tone: 'warning', title: `${name} ${downsInWords(told, words.was)}, then ${then}` };
}

/** The words of one among several. */
function flappingMember(told: FlappingView, { shownOpen }: Telling): string {
  const { flapping, status, endedAtMs, gone } = told;
  const words = wordsOf(told);
  if (gone) return words.lost;
  if (endedAtMs === undefined) {
    const since = `${new Date(flapping.changedAtMs).toISOString().slice(11, 16)} UTC`;
    const isOn = isUp({ status }) || isDown({ status });
    const now = `now ${shortened(status, 40)}${isOn ? '' : ', not UP'} since ${since}`;
    return `${words.flaps}: ${changesInWords(flapping)}, ${now}; ${flappingQuiet(told)}`;
  }
  if (isUp({ status })) {
    return shownOpen ? `calm again: ${downsInWords(told)}` : downsInWords(told, words.was);
  }
  const then = isDown({ status }) ? 'stayed' : 'was';
  const below = isDown({ status }) ? ', which is told below' : '';
  return `${downsInWords(told, words.was)}, then ${then} ${shortened(status, 40)}${below}`;
}

/** What a message of its own says of when and how often. */
function flappingFacts(told: FlappingView): Fact[] {
  const { flapping, status, endedAtMs, gone } = told;
  const label = capitalised(wordsOf(told).label);
  const { fromMs, changedAtMs, isDown: isLastDown, downs } = flapping;
  const isCalm = endedAtMs !== undefined && !isLastDown;
  const [down, up] = isReported(told)
    ? [isDown({ status }) ? 'Firing since' : 'Not resolved since', 'Resolved since']
    : [isDown({ status }) ? 'Down since' : 'Not UP since', 'Up since'];
  return [
    { label: `First ${wordsOf(told).label}`, value: { atMs: fromMs } },
    {
      label: isLastDown ? down : isCalm && !gone ? 'Calm since' : up,
      value: { atMs: changedAtMs },
    },
    { label, value: counted(downs, 'time') },
    ...(gone && endedAtMs !== undefined
      ? [{ label: 'Watched until', value: { atMs: endedAtMs } }]
      : []),
  ];
}

/** Notes that an alert shows, and how much of each. */
const SHOWN_NOTES = 3;
const SHOWN_NOTE_LENGTH = 200;

/** Tells people under an alert that there are notes. */
const NOTE_HINT = 'Reply “note: …” to keep a note here';

/** The newest notes, as an alert shows them. */
function noteFacts({ notes = [] }: { notes?: Note[] | undefined }): Fact[] {
  return notes
    .slice(-SHOWN_NOTES)
    .map(({ by, text }) => ({ label: `Note by ${by}`, value: shortened(text, SHOWN_NOTE_LENGTH) }));
}

/** Different snoozes that a message about several outages names. */
const NAMED_SNOOZES = 3;

/** Until when it is quiet, and who wants it so. */
const snoozeFact = ({ by, untilMs }: Snooze, count = ''): Fact => ({
  label: `Snoozed by ${by}${count} until`,
  value: { atMs: untilMs },
});

/** The same of several outages: of those that go on, or of all when none does. */
function snoozeFacts(members: readonly Member[]): Fact[] {
  const { open } = standing(members);
  const named = open.length > 0 ? open : members;
  const counts = new Map<string, { snoozed: Snooze; count: number }>();
  for (const { snoozed } of named) {
    if (!snoozed) continue;
    const key = `${snoozed.untilMs} ${snoozed.by}`;
    counts.set(key, { snoozed, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()]
    .sort((a, b) => b.snoozed.untilMs - a.snoozed.untilMs)
    .slice(0, NAMED_SNOOZES)
    .map(({ snoozed, count }) => snoozeFact(snoozed, countOf(count, named.length)));
}

/** Reasons that a message about several outages names. */
const NAMED_REASONS = 3;

/** What became of the silences in Alertmanager that went with snoozes; nothing where there are none. */
function silenceFacts(all: ReadonlyArray<Pick<Incident, 'snoozed' | 'silenceEnd'>>): Fact[] {
  const facts = new Map<string, { fact: Fact; count: number }>();
  const add = (fact: Fact) => {
    const key = JSON.stringify(fact);
    facts.set(key, { fact, count: (facts.get(key)?.count ?? 0) + 1 });
  };
  for (const { snoozed, silenceEnd } of all) {
    if (snoozed?.silence) add(silenceFact(snoozed, snoozed.silence));
    else if (silenceEnd) add(silenceEndFact(silenceEnd));
  }
  return [...facts.values()]
    .sort((a, b) => b.count - a.count)
    .slice(0, NAMED_REASONS)
    .map(({ fact, count }) => ({ ...fact, label: `${fact.label}${countOf(count, all.length)}` }));
}

function silenceFact({ untilMs }: Snooze, { status, why = '' }: Silence): Fact {
  if (status === 'made')
    return { label: 'Silenced in Alertmanager until', value: { atMs: untilMs } };
  if (status === 'refused') return { label: 'Alertmanager refused', value: why };
  if (status === 'unknown') {
    return { label: 'Perhaps not silenced in Alertmanager', value: why };
  }
  return { label: 'Silence in Alertmanager', value: 'asked for, and not answered yet' };
}

function silenceEndFact({ status, untilMs, why }: SilenceEnd): Fact {
  const label = 'Silence in Alertmanager';
  if (status === 'ended') return { label, value: 'ended' };
  if (status === 'wanted') return { label, value: 'its end is asked for, and not answered yet' };
  if (why === undefined)
    return { label: 'Silenced in Alertmanager until', value: { atMs: untilMs } };
  return { label: 'Silence in Alertmanager goes on', value: `its end was refused: ${why}` };
}

/** Those that joined since are not snoozed. */
const countOf = (count: number, all: number) => (count === all ? '' : ` (${count} of ${all})`);

const isSilent = (one: Incident | Member) =>
  ('reported' in one ? one.reported?.silentSinceMs : undefined) !== undefined ||
  ('silentSinceMs' in one && one.silentSinceMs !== undefined);

/** The buttons under an incident, or under several in one message, which has an id of its own. */
function actionsOf(alert: Incident | Group, id = alert.id): CardAction[] {
  const isOne = alert.kind === 'incident';
  const all: ReadonlyArray<Incident | Member> = isOne ? [alert] : alert.members;
  const open = all.filter(({ endedAtMs }) => endedAtMs === undefined);
  const action = (label: string, verb: string): CardAction => ({
    label,
    command: `incident ${verb}`,
    values: { incident: id },
  });
  const isSnoozed = (open.length === 0 ? all : open).some(({ snoozed }) => snoozed);
  const endSnooze = isSnoozed ? [action('End snooze', 'unsnooze')] : [];
  if (open.length === 0) {
    return [...endSnooze, ...(isOne && alert.gone ? [] : [action('Summarise', 'summary')])];
  }
  const isFree = open.some(({ acknowledged }) => acknowledged === undefined);
  return [
    ...(isFree ? [{ ...action('Acknowledge', 'acknowledge'), style: 'primary' as const }] : []),
    ...(open.some(({ snoozed }) => !snoozed) ? [action('Snooze 1 h', 'snooze')] : []),
    ...endSnooze,
    ...(open.some(isSilent) ? [action('Close', 'close')] : []),
    ...(isOne && !isReported(alert) ? [action('Check now', 'check')] : []),
    action('Ask why', 'why'),
  ];
}
