import { firstAtMs, wallMs, wallWords } from '../../contracts/wall-time.ts';
import type { ReportSchedule } from '../channels/channel-settings.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;

/** A report that comes later than this is not made any more: the next one is soon there. */
export const MAX_LATE_MS = DAY_MS;

type Every = ReportSchedule['every'];

/** The time that a report is about. */
export interface ReportSpan {
  every: Every;
  zone: string;
  /** Whether it is the last days up to now, and not those of the calendar. */
  isSoFar?: boolean;
  /** When the span before it begins, which ends where this one begins. */
  beforeMs: number;
  /** Where its hours, or days, begin, in order; the last one is its end. */
  cuts: readonly [number, ...number[]];
}

export const fromMsOf = ({ cuts }: ReportSpan) => cuts[0];
export const toMsOf = ({ cuts }: ReportSpan) => cuts.at(-1) ?? cuts[0];

/** A report and when it is to come. */
export interface DueReport {
  dueMs: number;
  span: ReportSpan;
}

/**
 * The last report of a schedule that was due by now; `undefined` where it was due before the schedule was set, or too long ago.
 * Pure.
 */
export function dueReport(schedule: ReportSchedule, nowMs: number): DueReport | undefined {
  const dues = duesAround(schedule, nowMs).filter(({ dueMs }) => dueMs <= nowMs);
  const last = dues.at(-1);
  if (!last || last.dueMs <= schedule.setAtMs || nowMs - last.dueMs >= MAX_LATE_MS)
    return undefined;
  return { dueMs: last.dueMs, span: spanOf(schedule, last) };
}

/** When the next report of a schedule comes. Pure. */
export function nextDueMs(schedule: ReportSchedule, nowMs: number): number {
  const next = duesAround(schedule, nowMs).find(({ dueMs }) => dueMs > nowMs);
  // Two dues after now are always among those around it.
  return next?.dueMs ?? nowMs + DAY_MS;
}

/** The last day, week or month up to now, by the clock. Pure. */
export function spanSoFar(every: Every, zone: string, nowMs: number): ReportSpan {
  const stepMs = every === 'daily' ? HOUR_MS : DAY_MS;
  const count = { daily: 24, weekly: 7, monthly: 30 }[every];
  const fromMs = nowMs - count * stepMs;
  const later = Array.from({ length: count }, (_, at) => fromMs + (at + 1) * stepMs);
  return {
    every,
    zone,
    isSoFar: true,
    beforeMs: fromMs - count * stepMs,
    cuts: [fromMs, ...later],
  };
}

/** A period of the calendar, from the one day on which a report comes to the next. */
interface Due {
  dueMs: number;
  /** The day on which it comes, as `wallMs` has it. */
  day: number;
  /** How many periods after the one of now. */
  turn: number;
}

/** Dues around now, in order. A day that a zone leaves out has none. */
function duesAround({ every, minute, zone }: ReportSchedule, nowMs: number): Due[] {
  const today = dayOf(wallMs(zone, nowMs));
  const days = [-2, -1, 0, 1, 2].map((turn) => ({ turn, day: turned(every, today, turn) }));
  return days
    .filter(({ day }) => firstAtMs(zone, day) < firstAtMs(zone, day + DAY_MS))
    .map(({ turn, day }) => ({ turn, day, dueMs: firstAtMs(zone, day + minute * MINUTE_MS) }));
}

/** The calendar's period that ends where the day of a report begins. */
function spanOf({ every, zone }: ReportSchedule, { day }: Pick<Due, 'day'>): ReportSpan {
  const begins = (one: number) => firstAtMs(zone, one);
  const from = turned(every, day, -1);
  const fromMs = begins(from);
  const toMs = begins(day);
  const inside =
    every === 'daily'
      ? steps(fromMs, toMs, HOUR_MS)
      : steps(from, day, DAY_MS)
          .map(begins)
          .filter((atMs) => atMs > fromMs);
  const later = [...new Set([...inside, toMs])];
  return { every, zone, beforeMs: begins(turned(every, from, -1)), cuts: [fromMs, ...later] };
}

/** What lies between two moments, at equal steps from the first. */
const steps = (fromMs: number, toMs: number, stepMs: number) =>
  Array.from(
    { length: Math.ceil((toMs - fromMs) / stepMs) - 1 },
    (_, at) => fromMs + (at + 1) * stepMs,
  );

const dayOf = (wall: number) => Math.floor(wall / DAY_MS) * DAY_MS;

/** The first day of the period that is so many after the one with this day, all as `wallMs` has them. */
function turned(every: Every, day: number, turns: number): number {
  if (every === 'daily') return day + turns * DAY_MS;
  const date = new Date(day);
  if (every === 'monthly') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + turns, 1);
  const sinceMonday = (date.getUTCDay() + 6) % 7;
  return day + (7 * turns - sinceMonday) * DAY_MS;
}

/** When the next report comes, in words: `2026-11-30 09:00 (Europe/Berlin)`. Pure. */
export const nextInWords = (schedule: ReportSchedule, nowMs: number) =>
  `${wallWords(schedule.zone, nextDueMs(schedule, nowMs))} (${schedule.zone})`;
