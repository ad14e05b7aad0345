import { changesOf, FLAPPING_MS } from '../incidents/flapping.ts';
import { snoozeFact } from '../incidents/snoozes.ts';
import type { Flapping, Group, Incident } from '../incidents/watch-state.ts';
import type { Card, CardAction, Fact } from '../shared/card.ts';
import { isDown, isUp } from '../shared/status.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';

/** What is told of a monitor that flaps, in a message of its own or in one about several. */
type FlappingView = Pick<Group['members'][number], 'name' | 'status' | 'endedAtMs' | 'gone'> & {
  flapping: Pick<Flapping, 'fromMs' | 'downs' | 'isDown' | 'changedAtMs'>;
};

/** What people are to expect of it. */
const FLAPPING_QUIET = `stays quiet here until it stays DOWN, or is calm for ${inWords(FLAPPING_MS)}`;

/** What a message of its own says besides: what to expect, or where to look. */
export function flappingText({ status, endedAtMs, gone }: Omit<FlappingView, 'flapping'>) {
  if (endedAtMs === undefined) return `It ${FLAPPING_QUIET}.`;
  if (gone || !isDown({ status })) return undefined;
  return 'It did not come back: that outage is told in a message of its own below.';
}

/** `5 changes in 3 minutes` */
export const changesInWords = (flapping: FlappingView['flapping']) =>
  `${counted(changesOf(flapping), 'change')} in ${spanOf(flapping)}`;

/** `down 7 times in 34 minutes` */
const downsInWords = (flapping: FlappingView['flapping']) =>
  `down ${counted(flapping.downs, 'time')} in ${spanOf(flapping)}`;

const spanOf = ({ fromMs, changedAtMs }: FlappingView['flapping']) => inWords(changedAtMs - fromMs);

/** The words of a message about nothing but what flaps, or did; or of a line under it, that it still does. */
export function flappingHeadline(
  told: FlappingView,
  { shownOpen, isLine = false }: { shownOpen: boolean; isLine?: boolean },
): Pick<Card, 'tone' | 'title'> {
  const { flapping, endedAtMs, gone } = told;
  const name = shortened(told.name, 100);
  const status = shortened(told.status, 40);
  if (gone) return { tone: 'info', title: `${name} is no longer watched` };
  if (endedAtMs === undefined) {
    const isOn = isUp(told) || isDown(told);
    const still = isLine ? 'still ' : '';
    return {
      tone: isDown(told) ? 'bad' : 'warning',
      title: isOn
        ? `${name} ${still}goes down and up: ${changesInWords(flapping)}, now ${status}`
        : `${name} is ${still}${status} after ${changesInWords(flapping)}`,
    };
  }
  if (isUp(told)) {
    const was = shownOpen ? 'is calm again:' : 'was';
    return { tone: 'good', title: `${name} ${was} ${downsInWords(flapping)}` };
  }
  const then = isDown(told) ? `stayed ${status}` : `was ${status}`;
  return { tone: 'warning', title: `${name} was ${downsInWords(flapping)}, then ${then}` };
}

/** The words of one among several. */
export function flappingMember(
  { flapping, status, endedAtMs, gone }: FlappingView,
  shownOpen: boolean,
): string {
  if (gone) return 'no longer watched';
  if (endedAtMs === undefined) {
    const since = `${new Date(flapping.changedAtMs).toISOString().slice(11, 16)} UTC`;
    const isOn = isUp({ status }) || isDown({ status });
    const now = `now ${shortened(status, 40)}${isOn ? '' : ', not UP'} since ${since}`;
    return `goes down and up: ${changesInWords(flapping)}, ${now}; ${FLAPPING_QUIET}`;
  }
  if (isUp({ status })) return `${shownOpen ? 'calm again:' : 'was'} ${downsInWords(flapping)}`;
  const then = isDown({ status }) ? 'stayed' : 'was';
  const below = isDown({ status }) ? ', which is told below' : '';
  return `was ${downsInWords(flapping)}, then ${then} ${shortened(status, 40)}${below}`;
}

/** What a message of its own says of when and how often. */
export function flappingFacts({ flapping, status, endedAtMs, gone }: FlappingView): Fact[] {
  const { fromMs, changedAtMs, isDown: isLastDown, downs } = flapping;
  const isCalm = endedAtMs !== undefined && !isLastDown;
  const down = isDown({ status }) ? 'Down since' : 'Not UP since';
  return [
    { label: 'First down', value: { atMs: fromMs } },
    {
      label: isLastDown ? down : isCalm && !gone ? 'Calm since' : 'Up since',
      value: { atMs: changedAtMs },
    },
    { label: 'Down', value: counted(downs, 'time') },
    ...(gone && endedAtMs !== undefined
      ? [{ label: 'Watched until', value: { atMs: endedAtMs } }]
      : []),
  ];
}

/** When an outage began and ended, as far as it was seen. */
export type Times = Pick<
  Incident,
  'startedAtMs' | 'endedAtMs' | 'unseenFromMs' | 'endUnseenFromMs'
>;

/** `Down`, or what else it was. */
const troubleOf = ({ degraded }: Incident) => (degraded === undefined ? 'Down' : 'Degraded');

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

/** From when to when, for people. Pure. */
export function timeFacts(incident: Incident): Fact[] {
  return [...beginFacts(incident), ...endFacts(incident)];
}

function beginFacts(incident: Incident): Fact[] {
  const { startedAtMs, endedAtMs, unseenFromMs, foundAtStart } = incident;
  if (unseenFromMs === 0) return [{ label: 'Down since', value: 'before Askwatch watched' }];
  if (unseenFromMs !== undefined) {
    return [
      {
        label: incident.degraded === undefined ? 'Went down after' : 'Began after',
        value: { atMs: unseenFromMs },
      },
      {
        label: incident.degraded === undefined ? 'Went down before' : 'Began before',
        value: { atMs: startedAtMs },
      },
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

/** What is to be said of outages told together that were not seen to begin. Pure. */
export function lateWords(
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

/** The buttons under an incident, or under several in one message. */
export function actionsOf(alert: Incident | Group): CardAction[] {
  const isOne = alert.kind === 'incident';
  const all: ReadonlyArray<Incident | Group['members'][number]> = isOne ? [alert] : alert.members;
  const open = all.filter(({ endedAtMs }) => endedAtMs === undefined);
  const action = (label: string, verb: string): CardAction => ({
    label,
    command: `incident ${verb}`,
    values: { incident: alert.id },
  });
  const isSnoozed = (open.length === 0 ? all : open).some(({ snoozed }) => snoozed);
  const endSnooze = isSnoozed ? [action('End snooze', 'unsnooze')] : [];
  if (open.length === 0) {
    return [...endSnooze, ...(isOne && alert.gone ? [] : [action('Summarise', 'summary')])];
  }
  const isFree = open.some(({ acknowledged }) => acknowledged === undefined);
  return [
    ...(isFree ? [action('Acknowledge', 'acknowledge')] : []),
    ...(open.some(({ snoozed }) => !snoozed) ? [action('Snooze 1 h', 'snooze')] : []),
    ...endSnooze,
    ...(isOne ? [action('Check now', 'check')] : []),
    action('Ask why', 'why'),
  ];
}

/** Who looks after it, and until when it is quiet. */
export function careFacts({ acknowledged, snoozed }: Incident): Fact[] {
  return [
    ...(acknowledged ? [{ label: 'Acknowledged by', value: acknowledged.by }] : []),
    ...(snoozed ? [snoozeFact(snoozed)] : []),
  ];
}
