import type { Incident } from '../incidents/watch-state.ts';
import type { Fact } from '../shared/card.ts';
import { isDown } from '../shared/status.ts';
import { inWords } from '../shared/text-format.ts';

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
