import { changesOf } from '../incidents/flapping.ts';
import type { Delivery, Group, GroupMember, Incident } from '../incidents/watch-state.ts';
import type { Card } from '../shared/card.ts';
import { isDown, isSilenced, isUp } from '../shared/status.ts';
import { counted, inShort, shortened } from '../shared/text-format.ts';
import { isReported, wordsOf, wordsOfAll } from './alert-words.ts';

type Subject = Incident | GroupMember;

export interface TitleView extends Pick<Delivery, 'earlier' | 'shownOpen'> {
  /** Time of the line that this is the title of. */
  lineAtMs?: number;
}

type Title = Pick<Card, 'tone' | 'title'>;

const MAX_NAME = 100;

/** Statuses that read well after "is". Any other is shown as the service writes it. */
const STATES = new Map([
  ...(['UP', 'DOWN', 'DEGRADED', 'SLOW', 'PAUSED', 'DISABLED', 'FIRING', 'RESOLVED'] as const).map(
    (word): [string, string] => [word, word.toLowerCase()],
  ),
  ['MAINTENANCE', 'in maintenance'],
  ['PENDING', 'waiting for its first check'],
]);

/** `down`, `in maintenance`. Pure. */
export const stateInWords = (status: string) =>
  STATES.get(status.trim().toUpperCase()) ?? shortened(status, 40);

const hasState = (status: string) => STATES.has(status.trim().toUpperCase());

/** A sentence as a name, such as "Disk of db-1 is full", reads badly before a state. */
const isSentence = (name: string) =>
  /\s(is|are|was|were|has|have|had|does|did|do|cannot|can't|can|isn't|aren't|fails|failed|exceeds|exceeded)\s/i.test(
    name,
  );

/** `Shop is down`, or `DOWN: Disk of db-1 is full` if the name or state reads badly in a sentence. */
function titled(
  subject: Subject,
  { word, phrase, detail }: { word: string; phrase: string; detail?: string },
  reads = true,
): string {
  const name = shortened(subject.name, MAX_NAME);
  if (reads && !isReported(subject) && !isSentence(name)) return `${name} ${phrase}`;
  return `${word}: ${name}${detail ? ` (${detail})` : ''}`;
}

export function titleOf(subject: Subject, view: TitleView): Title {
  const { status, closedBy, endedAtMs, gone } = subject;
  if (closedBy !== undefined) {
    const by = `by ${closedBy}`;
    const phrase = `was closed ${by}`;
    return { tone: 'info', title: titled(subject, { word: 'CLOSED', phrase, detail: by }) };
  }
  if (gone) {
    const words = lostWords(subject);
    const phrase = words === 'removed' ? 'was removed' : `is ${words}`;
    return { tone: 'info', title: titled(subject, { word: words.toUpperCase(), phrase }) };
  }
  if (endedAtMs === undefined && isSilent(subject)) {
    const detail = `last known: ${stateInWords(status)}`;
    const phrase = `sent no news, ${detail}`;
    return { tone: 'warning', title: titled(subject, { word: 'NO NEWS', phrase, detail }) };
  }
  const { flapping } = subject;
  if (flapping && !(endedAtMs === undefined && isSilenced(subject))) {
    return flappingTitle(subject, flapping, view);
  }
  return endedAtMs === undefined ? openTitle(subject, view) : overTitle(subject, view);
}

/** Other services may leave paused monitors out of their list. */
export function lostWords(
  subject: Pick<GroupMember, 'isReported' | 'change'> & Pick<Incident, 'reported'>,
): string {
  if (isReported(subject)) return 'no longer reported';
  return subject.change === undefined ? 'no longer listed' : 'removed';
}

function lostOf(members: readonly GroupMember[]): string {
  const first = members.find((one) => one.gone);
  return first ? lostWords(first) : '';
}

export const isSilent = (subject: Subject) =>
  ('reported' in subject ? subject.reported?.silentSinceMs : undefined) !== undefined ||
  ('silentSinceMs' in subject && subject.silentSinceMs !== undefined);

function openTitle(subject: Subject, { lineAtMs }: TitleView): Title {
  const { status } = subject;
  const tone = isDown(subject) ? 'bad' : 'warning';
  const word = shortened(status.trim().toUpperCase(), 40);
  const state = stateInWords(status);
  if (lineAtMs === undefined) {
    return { tone, title: titled(subject, { word, phrase: `is ${state}` }, hasState(status)) };
  }
  const long = lasted(subject, inShort, lineAtMs);
  const still = { word: `STILL ${word}`, phrase: `is still ${state} after ${long}` };
  return { tone, title: titled(subject, { ...still, detail: `for ${long}` }, hasState(status)) };
}

function overTitle(subject: Subject, view: TitleView): Title {
  const { status, degraded } = subject;
  const long = lasted(subject, inShort);
  const became = stateInWords(status);
  if (degraded !== undefined && !isUp(subject)) {
    const was = stateInWords(degraded);
    const end = { phrase: `was ${was}, then ${became}`, detail: `now ${became}` };
    return { tone: 'warning', title: titled(subject, { word: degraded.toUpperCase(), ...end }) };
  }
  if (!isUp(subject)) {
    const detail = `for ${long}, then ${became}`;
    return {
      tone: 'warning',
      title: titled(subject, { word: 'DOWN', phrase: `was down ${detail}`, detail }),
    };
  }
  const word = isReported(subject) ? 'RESOLVED' : 'RECOVERED';
  const was = isReported(subject) ? 'fired' : `was ${stateInWords(degraded ?? 'DOWN')}`;
  const often = view.earlier
    ? counted(view.earlier.count + 1, 'time')
    : 'times' in subject && subject.times > 1
      ? counted(subject.times, 'time')
      : undefined;
  // Anyone who missed the outage reads about both at once.
  const phrase = view.shownOpen
    ? degraded === undefined
      ? `recovered after ${long}`
      : `is no longer ${stateInWords(degraded)}`
    : `${was} ${often ?? `for ${long}`}`;
  const detail = view.shownOpen ? `after ${long}` : `${was} ${often ?? `for ${long}`}`;
  return { tone: 'good', title: titled(subject, { word, phrase, detail }) };
}

const changesInShort = (flapping: NonNullable<GroupMember['flapping']>) =>
  `${counted(changesOf(flapping), 'change')} in ${inShort(flapping.changedAtMs - flapping.fromMs)}`;

function flappingTitle(
  subject: Subject,
  flapping: NonNullable<GroupMember['flapping']>,
  { shownOpen, lineAtMs }: TitleView,
): Title {
  const { endedAtMs, status } = subject;
  const state = stateInWords(status);
  if (endedAtMs === undefined) {
    const detail = changesInShort(flapping);
    const still = lineAtMs === undefined ? '' : 'still ';
    const phrase = `is ${still}flapping (${detail}), now ${state}`;
    return {
      tone: isDown(subject) ? 'bad' : 'warning',
      title: titled(subject, {
        word: `${still}flapping`.toUpperCase(),
        phrase,
        detail: `${detail}, now ${state}`,
      }),
    };
  }
  const { was } = wordsOf(subject);
  const often = `${counted(flapping.downs, 'time')} in ${inShort(flapping.changedAtMs - flapping.fromMs)}`;
  if (!isUp(subject)) {
    const then = isDown(subject) ? `stayed ${state}` : `was ${state}`;
    const detail = `${was} ${often}, then ${then}`;
    return {
      tone: 'warning',
      title: titled(subject, { word: 'FLAPPING', phrase: detail, detail }),
    };
  }
  const phrase = shownOpen ? `is stable again (down ${often})` : `${was} ${often}`;
  return {
    tone: 'good',
    title: titled(subject, { word: 'STABLE', phrase, detail: `${was} ${often}` }),
  };
}

export type Times = Pick<
  Incident,
  'startedAtMs' | 'endedAtMs' | 'unseenFromMs' | 'endUnseenFromMs'
>;

/** Duration of an outage, so far or until `untilMs`. Unseen times make it a bound. Pure. */
export function lasted(
  times: Times,
  inWords: (ms: number) => string,
  untilMs = times.endedAtMs ?? times.startedAtMs,
): string {
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

/** It ended with another status than UP, such as after flapping. A later outage has its own message. */
export const isNotBack = (member: GroupMember) =>
  !member.gone && member.closedBy === undefined && member.endedAtMs !== undefined && !isUp(member);

export function standing(members: readonly GroupMember[]) {
  const open = members.filter(({ endedAtMs }) => endedAtMs === undefined);
  const gone = members.filter((member) => member.gone).length;
  const closed = members.filter(({ closedBy }) => closedBy !== undefined).length;
  const notBack = members.filter(isNotBack).length;
  const back = members.length - open.length - gone - closed - notBack;
  return { open, areDown: open.filter(isDown), gone, closed, notBack, back };
}

const areOf = (count: number) => (count === 1 ? 'is' : 'are');

export function groupTitle(group: Group, view: TitleView): string {
  const { members } = group;
  const [only] = members;
  if (only && members.length === 1) return titleOf(only, view).title;
  const { open, gone, closed, notBack, back } = standing(members);
  const { noun, active, back: recovered } = wordsOfAll(members).inGroup;
  const lost = lostOf(members);
  const count = counted(members.length, noun);
  if (open.length > 0) return openGroupTitle(group, view);
  if (back === members.length) {
    const long = lasted({ ...group, startedAtMs: group.openedAtMs }, inShort);
    if (view.shownOpen) return `${count} ${recovered} after ${long}`;
    const states = members.map(({ degraded = active }) => degraded);
    return `${count} were ${sharedState(states) ?? 'not up'} for ${long}`;
  }
  if (gone === members.length) return `${count} ${lost === 'removed' ? 'were' : 'are'} ${lost}`;
  if (closed === members.length) return `${count} were closed`;
  if (notBack === members.length) return `${count} are not up`;
  const parts = [
    `${back} ${recovered}`,
    `${notBack} not up`,
    `${closed} closed`,
    `${gone} ${lost}`,
  ].filter((part) => !part.startsWith('0 '));
  return `${count}: ${parts.join(', ')}`;
}

function openGroupTitle(group: Group, { lineAtMs }: TitleView): string {
  const { members } = group;
  const { open, areDown } = standing(members);
  const { noun, active } = wordsOfAll(members).inGroup;
  const flapping = open.filter((one) => one.flapping && (isUp(one) || isDown(one))).length;
  const isFlapping = areDown.length === 0 && flapping === open.length;
  const shown = areDown.length > 0 && noun === 'service' ? areDown : open;
  const state =
    noun === 'alert' || areDown.length > 0
      ? active
      : (sharedState(open.map(({ status }) => status)) ?? 'not up');
  const isSomeOver = open.length < members.length;
  const still = lineAtMs !== undefined || isSomeOver ? 'still ' : '';
  const of = shown.length === members.length ? '' : `${shown.length} of `;
  const title = `${of}${counted(members.length, noun)} ${areOf(shown.length)} ${still}${isFlapping ? 'flapping' : state}`;
  if (lineAtMs === undefined) return title;
  const [longest = group] = open.toSorted((a, b) => a.startedAtMs - b.startedAtMs);
  const times = 'startedAtMs' in longest ? longest : { startedAtMs: group.openedAtMs };
  return `${title} after ${lasted(times, inShort, lineAtMs)}`;
}

/** Undefined if they differ. */
function sharedState(statuses: readonly string[]): string | undefined {
  const all = new Set(statuses.map((status) => status.trim().toUpperCase()));
  const [only] = all;
  return only !== undefined && all.size === 1 ? stateInWords(only) : undefined;
}

export function digestTitle({ members, degraded }: Group): string {
  const [only] = members;
  if (only && members.length === 1) return titleOf(only, {}).title;
  const { open, areDown, gone, closed, notBack, back } = standing(members);
  const { noun, active, back: recovered } = wordsOfAll(members).inGroup;
  const lost = lostOf(members);
  const flapping = open.filter((one) => one.flapping && !isDown(one)).length;
  const parts = [
    { count: back, are: recovered },
    { count: areDown.length, are: `still ${active}` },
    { count: flapping, are: 'flapping' },
    { count: open.length - areDown.length - flapping + notBack, are: 'not up' },
    { count: closed, are: 'closed' },
    { count: gone, are: lost },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, are }) => `${count === members.length ? 'all' : count} ${are}`);
  const was = degraded ? 'not up' : active;
  return `${counted(members.length, noun)} were ${was}: ${parts.join(', ')}`;
}
