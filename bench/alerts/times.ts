import { setTimeout as pause } from 'node:timers/promises';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import { type Finding, findingOfOne, findingsOfTimes, type Goal } from '../shared/finding.ts';
import type { AlertBed, AlertStage } from './bed.ts';
import type { Arrival } from './platforms.ts';

/** Alert times on one platform. */
export interface AlertTimes {
  /** From the change at the service to the message at the platform. */
  inAllMs: number[];
  /** The bot's own part: from when it noted what it saw to the message. */
  ownMs: number[];
  /** New messages in the channel with the most. */
  posts: number;
}

/** The findings about some alerts, from what each pass showed of them. */
export function findingsOf(
  what: { name: string; title: string },
  passes: readonly AlertTimes[],
  { reference, goals }: { reference?: readonly AlertTimes[]; goals: { inAll?: Goal; own?: Goal } },
): Finding[] {
  const times = (part: 'inAllMs' | 'ownMs') => ({
    timesMs: passes.map((pass) => pass[part]),
    ...(reference && { referenceMs: reference.map((pass) => pass[part]) }),
  });
  const own = { name: `${what.name}-own`, title: `${what.title}, the bot's own part` };
  const isNoted = passes.every(({ ownMs }) => ownMs.length > 0);
  return [
    ...findingsOfTimes({
      ...{ ...what, ...times('inAllMs') },
      shares: { p50: undefined, p95: goals.inAll },
    }),
    ...(isNoted
      ? findingsOfTimes({ ...own, ...times('ownMs'), shares: { p50: undefined, p95: goals.own } })
      : []),
    findingOfOne(
      {
        ...{ name: `${what.name}-posts`, title: `${what.title}, messages in a channel` },
        ...{ unit: '', goal: { atMost: 1 } },
      },
      Math.max(...passes.map(({ posts }) => posts)),
    ),
  ];
}

/** When a monitor changed to what it is now, by the service; Unix time, milliseconds. */
export const changedMs = ({ status_changed_at: at = '' }: Monitor) => Date.parse(at);

/** Turns pages one after another, spread over a time. */
export async function turnInTurn(
  bed: AlertBed,
  { count, to, overMs }: { count: number; to: 'bad' | 'good'; overMs: number },
): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    bed.target.turn(number, to);
    await pause(overMs / count);
  }
}

/** The first arrival of its kind in each own channel, by the number of the monitor. */
function firstArrivals(
  { platform, own }: AlertStage,
  isIt: (arrival: Arrival) => boolean,
): Array<Arrival | undefined> {
  const first = new Map<string, Arrival>();
  for (const arrival of platform.arrivals()) {
    if (isIt(arrival) && !first.has(arrival.channel)) first.set(arrival.channel, arrival);
  }
  return own.map((channel) => first.get(channel));
}

export const tellsDown = ({ what, title }: Arrival) => what === 'post' && / is down/.test(title);
export const tellsUp = ({ what, title }: Arrival) => what === 'edit' && / recovered/.test(title);

/** Waits until this many channels on each platform have received the alert. */
export async function untilTold(
  bed: AlertBed,
  { count, isIt }: { count: number; isIt: (arrival: Arrival) => boolean },
): Promise<void> {
  await bed.until(`${count} messages on each platform`, () =>
    bed.stages.every(
      (stage) =>
        firstArrivals(stage, isIt).filter((arrival) => arrival !== undefined).length === count,
    ),
  );
}

/** The times to the first such messages. A monitor that changed more often than it was made to is left out. */
export function timesOf(
  stage: AlertStage,
  options: {
    isIt: (arrival: Arrival) => boolean;
    listed: readonly Monitor[];
    changes: number;
    notedMs?: number[];
  },
): AlertTimes {
  const { isIt, listed, changes, notedMs = [] } = options;
  const arrivals = firstArrivals(stage, isIt);
  const times: AlertTimes = { inAllMs: [], ownMs: [], posts: mostPosts(stage) };
  for (const [number, monitor] of listed.entries()) {
    const arrival = arrivals[number];
    if (!arrival || monitor.status_changes !== changes) continue;
    times.inAllMs.push(arrival.atMs - changedMs(monitor));
    const noted = notedMs[number];
    if (noted !== undefined) times.ownMs.push(arrival.atMs - noted);
  }
  return times;
}

/** Each own channel is to have one alert, which changes. */
function mostPosts({ platform, own }: AlertStage): number {
  const counts = new Map(own.map((channel) => [channel, 0]));
  for (const { channel, what } of platform.arrivals()) {
    const count = counts.get(channel);
    if (what === 'post' && count !== undefined) counts.set(channel, count + 1);
  }
  return Math.max(...counts.values());
}
