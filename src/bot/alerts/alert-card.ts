import { FLAPPING_MS } from '../../contracts/flapping.ts';
import { behindInWords } from '../incidents/dependencies.ts';
import { changesOf } from '../incidents/flapping.ts';
import { outagesOf } from '../incidents/groups.ts';
import { latencyFacts } from '../incidents/latency.ts';
import type {
  Alert,
  Delivery,
  Group,
  GroupMember,
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
import { isDown, isUp } from '../shared/status.ts';
import { runbookFacts, shownTarget, targetLink } from '../shared/target-link.ts';
import { counted, inShort, inWords, shortened } from '../shared/text-format.ts';
import {
  digestTitle,
  groupTitle,
  isNotBack,
  isSilent,
  lasted as lastedIn,
  lostWords,
  standing,
  stateInWords,
  type Times,
  type TitleView,
  titleOf,
} from './alert-titles.ts';
import { isReported, wordsOf } from './alert-words.ts';

interface CardView extends TitleView, Pick<Delivery, 'likely'> {
  /** The incident of a group with one member. The card shows all its facts. */
  incident?: Incident;
}

export function alertCard(alert: Alert, telling: CardView): Card {
  if (alert.kind === 'notice') {
    return textCard(alert.endedAtMs === undefined ? 'warning' : 'good', alert.title, alert.text);
  }
  if (alert.kind === 'report') return alert.card;
  if (alert.kind === 'investigation') return { ...alert.card, actions: alert.actions };
  if (alert.kind === 'monitoring-outage') return monitoringOutageCard(alert);
  return alert.kind === 'group' ? groupCard(alert, telling) : incidentCard(alert, telling);
}

/** The line under a message about an ongoing alert or its end. Pure. */
export function lineCard(alert: Alert, line: NonNullable<Delivery['line']>): Card {
  const { tone, title } = alertCard(alert, { shownOpen: true, lineAtMs: line.atMs });
  if (line.what !== 'escalation') return { tone, title, parts: [] };
  return { tone, title: `${title}, and nobody has acknowledged it`, parts: [] };
}

function monitoringOutageCard({ startedAtMs, endedAtMs, why }: MonitoringOutage): Card {
  if (endedAtMs === undefined) {
    return {
      tone: 'warning',
      title: 'Askwatch cannot see the monitors',
      parts: [
        { kind: 'facts', facts: [{ label: 'Since', value: { atMs: startedAtMs } }] },
        textPart(`${why} No outage alerts are sent until Askwatch can see them again.`),
      ],
    };
  }
  return {
    tone: 'good',
    title: 'Askwatch can see the monitors again',
    parts: [
      {
        kind: 'facts',
        facts: [
          { label: 'From', value: { atMs: startedAtMs } },
          { label: 'To', value: { atMs: endedAtMs } },
          { label: 'Duration', value: inWords(endedAtMs - startedAtMs) },
        ],
      },
      textPart('Outages that began in the meantime and are still ongoing are posted now.'),
    ],
  };
}

function incidentCard(incident: Incident, telling: CardView): Card {
  const { target, checkType, reason, runbook, acknowledged, snoozed, reported } = incident;
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
    ...likelyFacts(telling),
    ...runbookFacts(runbook),
    ...latencyFacts(incident),
    ...behindFacts(incident),
    ...(reported ? reportedFacts(reported) : [{ label: 'Kind', value: checkType }]),
    ...earlierFacts(telling.earlier, incident),
    ...(acknowledged ? [{ label: 'Acknowledged by', value: acknowledged.by }] : []),
    ...(snoozed ? snoozeFactsOf(snoozed) : []),
    ...silenceFacts([incident]),
    ...noteFacts(incident),
  ];
  return {
    ...titleOf(incident, telling),
    parts: [
      ...(text ? [textPart(text)] : []),
      { kind: 'facts', facts },
      ...truncatedParts([reported ?? {}]),
    ],
    actions: actionsOf(incident),
    link,
    // The id distinguishes two messages about one outage from two outages.
    footer: `Incident ${incident.id.slice(0, 8)} · ${NOTE_HINT}`,
  };
}

const SHOWN_FACTS = 12;
const SHOWN_LINKS = 3;

const MAX_LINK_LABEL_LENGTH = 24;
const MAX_HOST_LENGTH = 40;

/** The label names the host, because the sender's words could say anything. */
function reportedLink({ links }: ReportDetails): Card['link'] {
  const [first] = links;
  if (!first || !URL.canParse(first.url)) return undefined;
  const host = shortened(new URL(first.url).host, MAX_HOST_LENGTH);
  const words = shortened(first.label, MAX_LINK_LABEL_LENGTH);
  const label = words === host ? `Open ${host}` : `${words}: ${host}`;
  return linkOf({ link: { label, url: first.url } });
}

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

function noNewsFacts({ endedAtMs, reported }: Pick<Incident, 'endedAtMs' | 'reported'>): Fact[] {
  const { silentSinceMs: atMs } = reported ?? {};
  return endedAtMs !== undefined || atMs === undefined
    ? []
    : [{ label: 'No news since', value: { atMs } }];
}

/** The sender left out alerts. Nothing else is known about them. */
function truncatedParts(all: ReadonlyArray<Pick<ReportDetails, 'truncated'>>): CardPart[] {
  const most = all.reduce((max, { truncated = 0 }) => Math.max(max, truncated), 0);
  return most === 0
    ? []
    : [textPart(`Not shown: ${counted(most, 'more alert')} that the sender left out.`)];
}

const troubleOf = (incident: Incident) =>
  incident.degraded === undefined || incident.reported
    ? capitalised(wordsOf(incident).label)
    : 'Degraded';

const capitalised = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

export const lasted = (times: Times, untilMs?: number) => lastedIn(times, inWords, untilMs);

function beginFacts(incident: Incident): Fact[] {
  const { startedAtMs, endedAtMs, unseenFromMs, foundAtStart } = incident;
  if (unseenFromMs === 0)
    return [{ label: 'Down since', value: 'before Askwatch started watching' }];
  if (unseenFromMs !== undefined) {
    const began = incident.degraded === undefined ? 'Went down' : 'Began';
    return [
      { label: `${began} after`, value: { atMs: unseenFromMs } },
      { label: `${began} before`, value: { atMs: startedAtMs } },
      { label: 'Noticed late', value: 'Askwatch wasn’t watching in between' },
    ];
  }
  const goesOn = endedAtMs === undefined && (isDown(incident) || incident.degraded !== undefined);
  return [
    { label: goesOn ? 'Since' : `${troubleOf(incident)} from`, value: { atMs: startedAtMs } },
    ...(foundAtStart ? [{ label: 'Noticed', value: 'when Askwatch started watching' }] : []),
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

function behindFacts(incident: Incident): Fact[] {
  const names = behindInWords(incident);
  if (names === undefined) return [];
  const isOver = incident.endedAtMs !== undefined;
  return [{ label: isOver ? 'Dependents affected' : 'Dependents down', value: names }];
}

const likelyFacts = ({ likely }: CardView): Fact[] =>
  likely ? [{ label: likely.label, value: `${likely.cause} (see thread)` }] : [];

function earlierFacts(earlier: Delivery['earlier'], incident: Incident): Fact[] {
  if (!earlier) return [];
  const { label } = wordsOf(incident);
  return [
    { label: `Also ${label} before`, value: counted(earlier.count, 'time') },
    { label: `First ${label}`, value: { atMs: earlier.fromMs } },
  ];
}

const NAMED = 20;

/** Worded so that it stays true if more outages begin. */
const MISSED = 'This channel accepted no messages for a while, so some of this is late.';

function groupCard(group: Group, telling: CardView): Card {
  const { members } = group;
  const only = telling.incident && incidentCard(withNotesOf(telling.incident, group), telling);
  const late = lateWords(members);
  const about: Card = {
    tone: toneOf(group),
    title:
      group.quiet === undefined || telling.lineAtMs !== undefined
        ? `${groupTitle(group, telling)}${escalatedWords(group, telling)}`
        : `Quiet hours ${group.quiet}: ${digestTitle(group)}`,
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

const withNotesOf = (incident: Incident, { notes = [] }: Group): Incident => ({
  ...incident,
  notes: [...(incident.notes ?? []), ...notes],
});

/** Number of outages if the message covers more than the last one. */
function timesParts([member]: readonly GroupMember[]): CardPart[] {
  if (!member || hasFlapped(member) || member.times < 2) return [];
  return [{ kind: 'facts', facts: [{ label: 'Outages', value: String(member.times) }] }];
}

function escalatedWords({ escalation, members }: Group, { lineAtMs }: CardView): string {
  const isOpen = standing(members).open.length > 0;
  if (!escalation || !isOpen || lineAtMs !== undefined) return '';
  return `, not acknowledged within ${inShort(escalation.afterMs)}`;
}

function escalationParts({ escalation, members }: Group): CardPart[] {
  if (!escalation) return [];
  const { afterMs, called = 'this channel' } = escalation;
  const it = members.length === 1 ? 'it' : 'these';
  return [
    textPart(`Escalated to ${called}: nobody acknowledged ${it} within ${inWords(afterMs)}.`),
  ];
}

function memberParts(group: Group, telling: CardView): CardPart[] {
  const { members } = group;
  const { open } = standing(members);
  const over = members.filter(({ endedAtMs }) => endedAtMs !== undefined);
  const more = members.length - NAMED;
  const stillDown = open.length - NAMED;
  const active = members.every(isReported) ? 'active' : 'down';
  const named = [...open, ...over].slice(0, NAMED).map((member) => factOf(member, telling));
  return [
    {
      kind: 'facts',
      facts: [
        ...likelyFacts(telling),
        ...named,
        ...snoozeFacts(members),
        ...silenceFacts(members),
        ...noteFacts(group),
      ],
    },
    ...(more > 0
      ? [
          textPart(
            `… and ${more} more${stillDown > 0 && stillDown < more ? `, ${stillDown} of them still ${active}` : ''}.${members.every(isReported) ? '' : ' /monitor list shows all.'}`,
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

function factOf(member: GroupMember, telling: CardView): Fact {
  const { name, status, endedAtMs, reason, gone, times, acknowledged, behind, closedBy } = member;
  const words = wordsOf(member);
  const by = acknowledged ? [`acknowledged by ${acknowledged}`] : [];
  if (closedBy !== undefined)
    return { label: shortened(name, 100), value: `closed by ${closedBy}` };
  if (endedAtMs === undefined && member.silentSinceMs !== undefined) {
    const since = `no news since ${new Date(member.silentSinceMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const value = [`last known: ${stateInWords(status)}`, since, ...by].join(', ');
    return { label: shortened(name, 100), value };
  }
  if (hasFlapped(member)) {
    const all = outagesOf(member);
    const value = [
      flappingMember(member, telling),
      // Some outages came before the flapping.
      ...(all > member.flapping.downs ? [`${words.times} ${counted(all, 'time')} in all`] : []),
      ...by,
    ];
    return { label: shortened(name, 100), value: value.join(', ') };
  }
  const was = member.degraded === undefined ? words.was : `was ${stateInWords(member.degraded)}`;
  const told = gone
    ? [lostWords(member)]
    : [
        endedAtMs === undefined
          ? `${stateInWords(status)}${reason ? `: ${shortened(reason, 200)}` : ''}`
          : `${was} for ${lasted(member)}`,
        ...(times > 1 ? [`${words.times} ${counted(times, 'time')}`] : []),
        ...(behind !== undefined && endedAtMs === undefined
          ? [`${counted(behind, 'dependent')} down`]
          : []),
        ...by,
      ];
  return { label: shortened(name, 100), value: told.join(', ') };
}

function lateWords(
  all: ReadonlyArray<Pick<Incident, 'unseenFromMs' | 'foundAtStart'>>,
): string | undefined {
  const count = (late: typeof all) => (late.length === all.length ? 'All' : `${late.length}`);
  const atStart = all.filter(({ foundAtStart }) => foundAtStart);
  const inGap = all.filter(({ unseenFromMs = 0 }) => unseenFromMs > 0);
  const words = [
    ...(atStart.length > 0 ? [`${count(atStart)} found when Askwatch started watching.`] : []),
    ...(inGap.length > 0 ? [`${count(inGap)} noticed late: Askwatch wasn’t watching.`] : []),
  ];
  return words.length === 0 ? undefined : words.join(' ');
}

type FlappingView = Pick<
  GroupMember,
  'name' | 'status' | 'endedAtMs' | 'gone' | 'change' | 'isReported'
> & {
  flapping: NonNullable<GroupMember['flapping']>;
  reported?: Incident['reported'];
};

const hasFlapped = <T extends Pick<GroupMember, 'flapping'>>(told: T): told is T & FlappingView =>
  told.flapping !== undefined;

const flappingQuiet = (told: FlappingView) =>
  `until it stays ${stateInWords(wordsOf(told).status)} or is stable for ${inWords(FLAPPING_MS)}`;

/** The next message to expect, or where to look. */
function flappingText(told: FlappingView) {
  const { status, endedAtMs, gone } = told;
  if (endedAtMs === undefined) return `No more messages about it ${flappingQuiet(told)}.`;
  if (gone || !isDown({ status })) return undefined;
  return 'It did not recover. That outage has its own message below.';
}

/** `5 changes in 3 minutes` */
export const changesInWords = (flapping: FlappingView['flapping']) =>
  `${counted(changesOf(flapping), 'change')} in ${spanOf(flapping)}`;

/** `down 7 times in 34 minutes` */
const downsInWords = (told: FlappingView, word = wordsOf(told).times) =>
  `${word} ${counted(told.flapping.downs, 'time')} in ${spanOf(told.flapping)}`;

const spanOf = ({ fromMs, changedAtMs }: FlappingView['flapping']) => inWords(changedAtMs - fromMs);

function flappingMember(told: FlappingView, { shownOpen }: CardView): string {
  const { flapping, status, endedAtMs, gone } = told;
  const words = wordsOf(told);
  if (gone) return lostWords(told);
  if (endedAtMs === undefined) {
    const since = `${new Date(flapping.changedAtMs).toISOString().slice(11, 16)} UTC`;
    const now = `${stateInWords(status)} since ${since}`;
    return `flapping (${changesInWords(flapping)}), ${now}; muted ${flappingQuiet(told)}`;
  }
  if (isUp({ status })) {
    return shownOpen ? `stable again: ${downsInWords(told)}` : downsInWords(told, words.was);
  }
  const then = isDown({ status }) ? 'stayed' : 'was';
  const below = isDown({ status }) ? ', see below' : '';
  return `${downsInWords(told, words.was)}, then ${then} ${stateInWords(status)}${below}`;
}

function flappingFacts(told: FlappingView): Fact[] {
  const { flapping, status, endedAtMs, gone } = told;
  const label = capitalised(wordsOf(told).label);
  const { fromMs, changedAtMs, isDown: isLastDown, downs } = flapping;
  const isCalm = endedAtMs !== undefined && !isLastDown;
  const [down, up] = isReported(told)
    ? [isDown({ status }) ? 'Firing since' : 'Not resolved since', 'Resolved since']
    : [isDown({ status }) ? 'Down since' : 'Not up since', 'Up since'];
  return [
    { label: `First ${wordsOf(told).label}`, value: { atMs: fromMs } },
    {
      label: isLastDown ? down : isCalm && !gone ? 'Stable since' : up,
      value: { atMs: changedAtMs },
    },
    { label, value: counted(downs, 'time') },
    ...(gone && endedAtMs !== undefined
      ? [{ label: 'Watched until', value: { atMs: endedAtMs } }]
      : []),
  ];
}

const SHOWN_NOTES = 3;
const SHOWN_NOTE_LENGTH = 200;

const NOTE_HINT = 'Reply “note: …” to add a note';

function noteFacts({ notes = [] }: { notes?: Note[] }): Fact[] {
  return notes
    .slice(-SHOWN_NOTES)
    .map(({ by, text }) => ({ label: `Note by ${by}`, value: shortened(text, SHOWN_NOTE_LENGTH) }));
}

const NAMED_SNOOZES = 3;

/** `count` says for how many outages. */
const snoozeFactsOf = ({ by, untilMs }: Snooze, count = ''): Fact[] => [
  { label: 'Snoozed until', value: { atMs: untilMs } },
  { label: 'Snoozed by', value: `${by}${count}` },
];

function snoozeFacts(members: readonly GroupMember[]): Fact[] {
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
    .flatMap(({ snoozed, count }) => snoozeFactsOf(snoozed, countOf(count, named.length)));
}

const NAMED_REASONS = 3;

/** Empty without silences. */
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
  if (status === 'created')
    return { label: 'Silenced in Alertmanager until', value: { atMs: untilMs } };
  if (status === 'refused') return { label: 'Not silenced in Alertmanager', value: why };
  if (status === 'unknown') {
    return { label: 'Possibly not silenced in Alertmanager', value: why };
  }
  return { label: 'Silence in Alertmanager', value: 'requested, not confirmed yet' };
}

function silenceEndFact({ status, untilMs, why }: SilenceEnd): Fact {
  const label = 'Silence in Alertmanager';
  if (status === 'ended') return { label, value: 'ended' };
  if (status === 'wanted') return { label, value: 'end requested, not confirmed yet' };
  if (why === undefined)
    return { label: 'Silenced in Alertmanager until', value: { atMs: untilMs } };
  return { label: 'Still silenced in Alertmanager', value: `ending it was refused: ${why}` };
}

/** Members that joined later aren't snoozed. */
const countOf = (count: number, all: number) => (count === all ? '' : ` (${count} of ${all})`);

/** A group has an id of its own for its buttons. */
function actionsOf(alert: Incident | Group, id = alert.id): CardAction[] {
  const isOne = alert.kind === 'incident';
  const all: ReadonlyArray<Incident | GroupMember> = isOne ? [alert] : alert.members;
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
