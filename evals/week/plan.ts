import type { CheckType } from '../../src/contracts/monitoring.ts';
import type { Outcome } from '../../src/monitoring/checks/check-result.ts';
import { createRandom } from '../../test/helpers/random.ts';
import { HAPPENINGS, SHARED_OUTAGES } from './happenings.ts';
import { MADE_MONITORS, type MadeMonitor } from './monitors.ts';
import {
  BEGIN_MS,
  DAY_MS,
  HOUR_MS,
  looksOf,
  MINUTE_MS,
  NOW_MS,
  type Period,
  type PlannedMonitor,
  responseTimeAt,
  type Span,
  STOPS,
} from './planned-monitor.ts';

/** Always the same, so that the week is the same in every run: questions about it have one right answer. */
const SEED = 20261126;

/** Between the making of two monitors. */
const MADE_EVERY_MS = 20_000;

export const LAST_WEEK: Span = { fromMs: NOW_MS - 7 * DAY_MS, toMs: NOW_MS };
export const WEEK_BEFORE: Span = {
  fromMs: LAST_WEEK.fromMs - 7 * DAY_MS,
  toMs: LAST_WEEK.fromMs,
};

/** Incidents that overlap each of the two weeks: what is not among `HAPPENINGS` is left to chance. */
const WANTED = [
  { week: WEEK_BEFORE, incidents: 40 },
  { week: LAST_WEEK, incidents: 60 },
];

/** Most incidents that chance gives to a monitor in both weeks. */
const MOST_BY_CHANCE = 2;

/** Between what happens by chance and what is to stand alone. */
const APART_MS = 30 * MINUTE_MS;

/** Random failures by type of check. */
const CAUSES: Record<Exclude<CheckType, 'HEARTBEAT'>, Array<[Outcome, string]>> = {
  HTTP: [
    ['status', 'answered 502 Bad Gateway, expected 200-299'],
    ['status', 'answered 503 Service Unavailable, expected 200-299'],
    ['timeout', 'no answer from 192.0.2.80 within 10 s'],
    ['connection', 'connection refused by 192.0.2.80:443 after 3 ms'],
    ['name', 'the name could not be looked up (SERVFAIL)'],
  ],
  KEYWORD: [
    ['keyword', 'keyword not found in 3 KB of text/html'],
    ['status', 'answered 500 Internal Server Error, expected 200-299'],
  ],
  DNS: [
    ['dns', 'nothing answers at 198.51.100.54'],
    ['dns', '198.51.100.54 failed (SERVFAIL)'],
  ],
  CERTIFICATE: [['tls', 'the certificate is for another name']],
  TCP: [['connection', 'connection refused by 192.0.2.80:5432 after 3 ms']],
};

type Draft = Omit<PlannedMonitor, 'periods' | 'lastCheckedMs' | 'responseTimeMs'> & {
  periods: Period[];
};

/** Every monitor, in the order they were made. */
export const MONITORS: readonly PlannedMonitor[] = planned();

function planned(): PlannedMonitor[] {
  const random = createRandom(SEED);
  const drafts = MADE_MONITORS.map((made, index) => draftOf(made, index, random));
  addChance(drafts, random);
  return drafts.map(withLastCheck).sort((a, b) => a.createdMs - b.createdMs);
}

function draftOf(made: MadeMonitor, index: number, random: () => number): Draft {
  const { definition, everyMs } = made;
  const { name, check_type: type } = definition;
  // Drawn for all, so that a change to one monitor leaves the others as they are.
  const [id, phase, level, ends] = [hexOf(random), random(), random(), random()];
  const usualMs = type === 'DNS' ? 8 + 40 * level : 60 + 480 * level;
  const hasCertificate = type === 'HTTP' || type === 'KEYWORD';
  const levels = made.levels ?? [{ fromMs: 0, ms: Math.round(usualMs) }];
  return {
    id: `mon_${id}`,
    name,
    type,
    definition,
    createdMs: made.createdMs ?? BEGIN_MS + index * MADE_EVERY_MS,
    everyMs,
    // No check is due exactly at the clock's time, and no job is late.
    phaseMs: made.phaseMs ?? 1_000 + Math.floor(phase * (everyMs - 2_000)),
    levels: type === 'HEARTBEAT' ? [] : levels,
    ...(hasCertificate && {
      certificateEndsMs: made.certificateEndsMs ?? NOW_MS + Math.round((21 + 99 * ends) * DAY_MS),
    }),
    periods: [...(HAPPENINGS[name] ?? [])],
  };
}

/** Sixteen digits. */
function hexOf(random: () => number): string {
  const half = () => Math.floor(random() * 2 ** 32).toString(16);
  return half().padStart(8, '0') + half().padStart(8, '0');
}

/** Adds random incidents to monitors without planned ones. */
function addChance(drafts: readonly Draft[], random: () => number): void {
  const others = drafts.filter(
    ({ name, type, createdMs }) =>
      HAPPENINGS[name] === undefined && type !== 'HEARTBEAT' && createdMs < WEEK_BEFORE.fromMs,
  );
  for (const { week, incidents } of WANTED) {
    let missing = incidents - drafts.flatMap(({ periods }) => downDuring(periods, week)).length;
    while (missing > 0) {
      const monitor = oneOf(others, random);
      const period = byChance(monitor.type, week, random);
      if (!period || monitor.periods.length === MOST_BY_CHANCE) continue;
      if (monitor.periods.some((other) => isNear(other, period))) continue;
      monitor.periods.push(period);
      missing -= 1;
    }
  }
  for (const { periods } of others) periods.sort((a, b) => a.fromMs - b.fromMs);
}

function downDuring(periods: readonly Period[], week: Span): Period[] {
  return periods.filter(
    ({ status, fromMs, toMs = Number.POSITIVE_INFINITY }) =>
      status === 'DOWN' && fromMs < week.toMs && toMs > week.fromMs,
  );
}

/** An incident of two to fifty minutes in a week; undefined when it comes near to what is to stand alone. */
function byChance(type: CheckType, week: Span, random: () => number): (Period & Span) | undefined {
  const lengthMs = 1_000 * Math.round(120 + 2_880 * random() ** 2);
  const room = week.toMs - week.fromMs - 4 * HOUR_MS;
  const fromMs = week.fromMs + HOUR_MS + 1_000 * Math.floor((random() * room) / 1_000);
  const [outcome, reason] = oneOf(CAUSES[type === 'HEARTBEAT' ? 'HTTP' : type], random);
  const period = { status: 'DOWN' as const, fromMs, toMs: fromMs + lengthMs, outcome, reason };
  return [...STOPS, ...SHARED_OUTAGES].some((span) => isNear(period, span)) ? undefined : period;
}

/** True if spans are close to each other or overlap. */
function isNear({ fromMs, toMs = Number.POSITIVE_INFINITY }: Period, other: Span): boolean {
  return fromMs < other.toMs + APART_MS && toMs > other.fromMs - APART_MS;
}

function oneOf<T>(all: readonly T[], random: () => number): T {
  const one = all[Math.floor(random() * all.length)];
  if (one === undefined) throw new RangeError('there is none to choose from');
  return one;
}

/** Adds the last check before the moment at which the clock stands. Pure. */
export function withLastCheck(draft: Draft): PlannedMonitor {
  const last = draft.periods.at(-1);
  const endMs = last?.status === 'PAUSED' ? last.fromMs : NOW_MS;
  const looks = looksOf(draft, { fromMs: endMs - 2 * draft.everyMs, toMs: NOW_MS });
  const lastCheckedMs = looks.at(-1) ?? endMs;
  return { ...draft, lastCheckedMs, responseTimeMs: responseTimeAt(draft, lastCheckedMs) };
}
