import { changesOf, FLAPPING_MS } from '../incidents/flapping.ts';
import type { Flapping, Group } from '../incidents/watch-state.ts';
import type { Card, Fact } from '../shared/card.ts';
import { isDown, isUp } from '../shared/status.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';

/** What is told of a monitor that flaps, in a message of its own or in one about several. */
type FlappingView = Pick<Group['members'][number], 'name' | 'status' | 'endedAtMs' | 'gone'> & {
  flapping: Pick<Flapping, 'fromMs' | 'downs' | 'isDown' | 'changedAtMs'>;
};

/** What people are to expect of it. */
export const FLAPPING_QUIET = `stays quiet here until it stays DOWN, or is calm for ${inWords(FLAPPING_MS)}`;

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
export const downsInWords = (flapping: FlappingView['flapping']) =>
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
