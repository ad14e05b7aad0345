import { z } from 'zod';
import { HOUR_MS } from '../time/clock.ts';
import { addEntry } from './hourly-aggregator.ts';
import type { Entry } from './result-record.ts';
import { tallyFromText, tallyToText } from './tally-text.ts';
import {
  countUntil,
  lastBefore,
  type Snapshot,
  startAccount,
  type Tally,
  talliesAt,
  type UptimeAccount,
} from './uptime-accounting.ts';

/** What is counted of a monitor since the hours that are stored. */
export interface UnstoredHours {
  time: UptimeAccount;
  /** Every hour before is stored, or was not seen. */
  finalMs: number;
}

/** Where counting begins: after hours that are stored. */
export interface StoredEnd {
  finalMs: number;
  last: Snapshot | undefined;
}

/** Counts entries, oldest first; those of hours that are stored come too late. */
export function countFrom({ finalMs, last }: StoredEnd, entries: readonly Entry[]): UnstoredHours {
  const time = startAccount({ lengthMs: HOUR_MS, countedMs: finalMs, last });
  for (const entry of entries) if (entry.atMs >= finalMs) addEntry(time, entry);
  return { time, finalMs };
}

/** Counts one more; false when it came before what is counted already, which is to be counted anew then. */
export function countOne({ time, finalMs }: UnstoredHours, entry: Entry): boolean {
  if (entry.atMs < finalMs) return true;
  if (entry.atMs < time.countedMs) return false;
  addEntry(time, entry);
  return true;
}

/** Whether there is something to store of hours before `boundaryMs`. */
export function isDue({ time }: UnstoredHours, boundaryMs: number): boolean {
  const [first] = time.tallies;
  if (first) return first.startMs < boundaryMs;
  const { last, countedMs } = time;
  if (!last || last.as === 'unseen') return false;
  const fromMs = Math.max(countedMs, last.atMs);
  return fromMs < Math.min(boundaryMs, last.atMs + last.worthMs);
}

/** What is to be stored of the hours before `boundaryMs`; changes nothing. */
export function hoursBefore(
  { time }: UnstoredHours,
  boundaryMs: number,
): { hours: Tally[]; last: Snapshot | undefined } {
  const hours = talliesAt(time, boundaryMs).filter(({ startMs }) => startMs < boundaryMs);
  return { hours, last: lastBefore(time, boundaryMs) };
}

/** The hours before are stored. */
export function setStored(unstored: UnstoredHours, finalMs: number): void {
  if (finalMs <= unstored.finalMs) return;
  const { time } = unstored;
  countUntil(time, finalMs);
  time.countedMs = Math.max(time.countedMs, finalMs);
  time.tallies = time.tallies.filter(({ startMs }) => startMs >= finalMs);
  unstored.finalMs = finalMs;
}

/** More stand in no text: whoever needs them works them out. Two are usual, a dozen are there after a long stop. */
const MAX_HOURS = 12;

const MAX_LENGTH = 4_000;

/** `1|finalMs|last|hour|hour…`, numbers with commas between; the first one is the version. */
const Text = z
  .string()
  .max(MAX_LENGTH)
  .regex(/^1\|\d+(\|[\d.,]*)+$/);

/** As one text, which takes a third of the memory of objects: every process may hold that of every monitor. */
export function toText({ time, finalMs }: UnstoredHours): string | null {
  if (time.tallies.length > MAX_HOURS) return null;
  let text = `1|${finalMs}|${snapshotText(time.last)}`;
  for (const tally of time.tallies) text += `|${tallyToText(tally, HOUR_MS)}`;
  return text.length > MAX_LENGTH ? null : text;
}

/** Undefined for what is no such text, or one of another version. */
export function fromText(value: unknown): UnstoredHours | undefined {
  const { data } = Text.safeParse(value);
  if (data === undefined) return undefined;
  const [, final, end = '', ...rows] = data.split('|');
  const finalMs = Number(final);
  const last = snapshotFrom(numbersIn(end));
  const tallies = rows.map(tallyFrom);
  if ((end !== '' && last === undefined) || tallies.includes(undefined)) return undefined;
  const countedMs = Math.max(finalMs, last?.atMs ?? 0);
  const time = startAccount({ lengthMs: HOUR_MS, countedMs, last });
  time.tallies = tallies.filter((tally) => tally !== undefined);
  return { time, finalMs };
}

/** Whether a text says that hours are stored up to this moment; false for what is no text. */
export function isFinalFrom(value: unknown, beforeMs: number): boolean {
  return typeof value === 'string' && Number(value.split('|', 2)[1]) >= beforeMs;
}

const numbersIn = (row: string): number[] => row.split(',').map(Number);

function tallyFrom(row: string): UptimeAccount['tallies'][number] | undefined {
  const tally = tallyFromText(row, HOUR_MS);
  return tally && { ...tally, last: undefined };
}

const AS: Array<Snapshot['as']> = ['unseen', 'up', 'down', 'unconfirmed'];

const snapshotText = (last: Snapshot | undefined): string =>
  last ? `${last.atMs},${last.worthMs},${AS.indexOf(last.as)}` : '';

function snapshotFrom(numbers: readonly number[]): Snapshot | undefined {
  const [atMs = Number.NaN, worthMs = Number.NaN, place = Number.NaN] = numbers;
  const as = AS[place];
  const isOne = numbers.length === 3 && !Number.isNaN(atMs + worthMs) && as !== undefined;
  return isOne ? { atMs, worthMs, as } : undefined;
}
