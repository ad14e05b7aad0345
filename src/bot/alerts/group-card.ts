import { outagesOf } from '../incidents/groups.ts';
import { NOTE_HINT, noteFacts } from '../incidents/incident-service.ts';
import { snoozeFacts } from '../incidents/snoozes.ts';
import type { Delivery, Group } from '../incidents/watch-state.ts';
import { type Card, type Fact, textPart } from '../shared/card.ts';
import { downWord, isDown, isUp } from '../shared/status.ts';
import { counted, shortened } from '../shared/text-format.ts';
import {
  actionsOf,
  flappingHeadline,
  flappingMember,
  lasted,
  lateWords,
  type Times,
} from './incident-card.ts';

/** Members that are named; the others are counted. */
const NAMED = 20;

/** It stays true when more begins. */
const MISSED = 'This channel took no messages for a while, so some of this is told late.';

type Member = Group['members'][number];

/** What a place is to see of outages that began together. Pure. */
export function groupCard(group: Group, { shownOpen }: Pick<Delivery, 'shownOpen'>): Card {
  const { members } = group;
  const down = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  const over = members.filter(({ endedAtMs }) => endedAtMs !== undefined);
  const inOrder = [...down, ...over];
  const more = inOrder.length - NAMED;
  const stillDown = down.length - NAMED;
  const late = lateWords(members);
  const named = inOrder.slice(0, NAMED).map((member) => factOf(member, shownOpen ?? false));
  return {
    tone: toneOf(group),
    title:
      group.quiet === undefined
        ? groupTitle(group, { shownOpen: shownOpen ?? false, isLine: false })
        : `While it was quiet (${group.quiet}): ${digestTitle(group)}`,
    parts: [
      { kind: 'facts', facts: [...named, ...snoozeFacts(members), ...noteFacts(group)] },
      ...(more > 0
        ? [
            textPart(
              `… and ${more} more${stillDown > 0 && stillDown < more ? `, of which ${stillDown} are down` : ''}. /monitor list shows all.`,
            ),
          ]
        : []),
      ...(late ? [textPart(late)] : []),
      ...(group.missed ? [textPart(MISSED)] : []),
    ],
    footer: `Incident ${group.id.slice(0, 8)} · ${NOTE_HINT}`,
    actions: actionsOf(group),
  };
}

function toneOf({ members }: Group): Card['tone'] {
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  if (open.some(({ degraded }) => degraded === undefined)) return 'bad';
  if (open.length > 0) return 'warning';
  if (members.every(({ gone }) => gone)) return 'info';
  return members.some(isNotBack) ? 'warning' : 'good';
}

/** It flapped, or was no outage yet, and what became of it then is told elsewhere. */
const isNotBack = (member: Member) =>
  (member.flapping !== undefined || member.degraded !== undefined) &&
  !member.gone &&
  member.endedAtMs !== undefined &&
  !isUp(member);

/** The one that a group is about, if it is about one. */
export function onlyMember({ members }: Group): Member | undefined {
  return members.length === 1 ? members[0] : undefined;
}

/**
 * What there is to say of outages that began together; in a line under a message that said it before, that it still is so.
 * Pure.
 */
export function groupTitle(
  group: Group,
  { shownOpen, isLine }: { shownOpen: boolean; isLine: boolean },
): string {
  const { members } = group;
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined).length;
  const still = isLine ? 'still ' : '';
  const count = members.length;
  const gone = members.filter((member) => member.gone).length;
  const only = onlyMember(group);
  if (only) {
    const { flapping } = only;
    if (flapping) return flappingHeadline({ ...only, flapping }, { shownOpen, isLine }).title;
    const name = shortened(only.name, 100);
    if (open > 0) return `${name} is ${still}${shortened(only.status, 40)}`;
    // What is no longer watched has not recovered as far as anyone knows.
    if (gone > 0) return `${name} is no longer watched`;
    if (only.degraded !== undefined) {
      return `${name} was ${only.degraded} and is ${shortened(only.status, 40)}`;
    }
    return shownOpen ? `${name} recovered` : `${name} was down`;
  }
  const areDown = members.filter((member) => member.endedAtMs === undefined && isDown(member));
  const down = areDown.length;
  if (down === count) return `${count} monitors are ${still}${downWord(areDown)}`;
  if (group.degraded && open === count) {
    return `${count} monitors are ${still}${sharedWord(members) ?? 'not UP'}`;
  }
  if (open > 0) return openTitle(members, { open, areDown, still });
  if (gone === count) return `${count} monitors are no longer watched`;
  const notBack = members.filter(isNotBack).length;
  const back = count - gone - notBack;
  if (back === 0) return `${notBack} of ${count} monitors ${areOf(notBack)} not UP`;
  return [
    `${counted(back, 'monitor')} ${shownOpen ? 'recovered' : `${back === 1 ? 'was' : 'were'} ${troubleOf(members)}`}`,
    ...(notBack > 0 ? [`${notBack} not UP`] : []),
    ...(gone > 0 ? [`${gone} no longer watched`] : []),
  ].join(', ');
}

/** The word of all, where it is the same, as it stands. */
function sharedWord(members: readonly Member[]): string | undefined {
  const [first] = members;
  const isSame = members.every(({ status }) => status === first?.status);
  return first && isSame ? shortened(first.status, 40) : undefined;
}

/** What they were: down, or what is no outage. */
function troubleOf(members: readonly Member[]): string {
  const degraded = members.filter((member) => member.degraded !== undefined).length;
  if (degraded === 0) return 'down';
  return degraded === members.length ? 'degraded' : 'not UP';
}

const areOf = (count: number) => (count === 1 ? 'is' : 'are');

/** What the quiet hours of a place left of the outages that began in them. */
function digestTitle({ members }: Group): string {
  const [only, ...others] = members;
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  const areDown = open.filter(isDown);
  const down = areDown.length;
  const flapping = open.filter((one) => one.flapping && isUp(one)).length;
  const gone = members.filter((member) => member.gone).length;
  const notBack = members.filter(isNotBack).length;
  if (only && others.length === 0) {
    const name = shortened(only.name, 100);
    if (down > 0) return `${name} went down and is still ${downWord(areDown)}`;
    if (flapping > 0) return `${name} goes down and up`;
    const was = only.degraded ?? 'down';
    if (open.length > 0 && only.degraded !== undefined) {
      return `${name} is ${shortened(only.status, 40)}`;
    }
    if (open.length > 0) return `${name} was down and is now ${shortened(only.status, 40)}`;
    return `${name} was ${was} and is ${gone > 0 ? 'no longer watched' : notBack > 0 ? 'not UP yet' : 'up again'}`;
  }
  const all = members.length === 2 ? 'both' : 'all';
  const parts = [
    { count: members.length - open.length - gone - notBack, words: 'up again' },
    { count: down, words: `still ${downWord(areDown)}` },
    { count: flapping, words: 'going down and up' },
    { count: open.length - down - flapping + notBack, words: 'not UP yet' },
    { count: gone, words: 'no longer watched' },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, words }) =>
      count === members.length ? `${all} are ${words}` : `${count} ${areOf(count)} ${words}`,
    );
  return `${members.length} monitors were ${troubleOf(members)}, ${parts.join(', ')}`;
}

/** The times of what goes on longest of it, or of all of it when it is over. Pure. */
export function groupTimes({ members, openedAtMs: startedAtMs }: Group): Times {
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  return open.toSorted((a, b) => a.startedAtMs - b.startedAtMs)[0] ?? { startedAtMs };
}

function openTitle(
  members: readonly Member[],
  { open, areDown, still }: { open: number; areDown: readonly Member[]; still: string },
) {
  const down = areDown.length;
  const of = `of ${members.length} monitors`;
  if (down > 0) return `${down} ${of} ${areOf(down)} ${still}${downWord(areDown)}`;
  const flapping = members.filter((one) => one.flapping && one.endedAtMs === undefined).length;
  if (flapping < open) return `${open} ${of} ${areOf(open)} ${still}not UP`;
  return `${flapping} ${of} ${still}${flapping === 1 ? 'goes' : 'go'} down and up`;
}

function factOf(member: Member, shownOpen: boolean): Fact {
  const { name, status, endedAtMs, reason, gone, times, acknowledged } = member;
  const by = acknowledged ? [`acknowledged by ${acknowledged}`] : [];
  const { flapping } = member;
  if (flapping) {
    const all = outagesOf(member);
    const value = [
      flappingMember({ ...member, flapping }, shownOpen),
      // Some of it was before it flapped.
      ...(all > flapping.downs ? [`down ${counted(all, 'time')} in all`] : []),
      ...by,
    ];
    return { label: shortened(name, 100), value: value.join(', ') };
  }
  const words = gone
    ? ['no longer watched']
    : [
        endedAtMs === undefined
          ? `${shortened(status, 40)}${reason ? `: ${shortened(reason, 200)}` : ''}`
          : `was ${member.degraded ?? 'down'} for ${lasted(member)}`,
        ...(times > 1 ? [`down ${counted(times, 'time')}`] : []),
        ...by,
      ];
  return { label: shortened(name, 100), value: words.join(', ') };
}
