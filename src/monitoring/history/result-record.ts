import { z } from 'zod';
import type { CheckResult, Outcome } from '../checks/check-result.ts';
import type { UnderlyingStatus } from '../state/state.ts';

/** Says how the time after a result counts. */
export interface ResultContext {
  found: UnderlyingStatus;
  /** The check interval: a result counts for at most twice as long. */
  everyMs: number;
  /** In maintenance or paused: the time counts as not monitored. */
  covered: boolean;
}

/**
 * A result of a monitor, or that it was covered or forgotten. Flat numbers, as in the journal, because a start reads a million of
 * them.
 */
export interface HistoryEntry {
  monitor: string;
  atMs: number;
  /** `COVERED`, `FORGOTTEN`, or for a result its outcome times `RESULT`, plus the flags below. */
  kind: number;
  /** The response time in tenths of a millisecond, a whole number. */
  took: number;
  everyMs: number;
  reason: string | undefined;
}

/** Numbers in the journal; they never change. */
const OUTCOME_NUMBERS: Readonly<Record<Outcome, number>> = {
  ok: 0,
  slow: 1,
  expiring: 2,
  timeout: 3,
  connection: 4,
  name: 5,
  tls: 6,
  protocol: 7,
  status: 8,
  redirect: 9,
  keyword: 10,
  dns: 11,
  blocked: 12,
  late: 13,
  failed: 14,
  answer: 15,
  value: 16,
};
const OUTCOMES: Outcome[] = [];
for (const outcome of Object.keys(OUTCOME_NUMBERS) as Outcome[]) {
  OUTCOMES[OUTCOME_NUMBERS[outcome]] = outcome;
}

const COVERED = 0;
const FORGOTTEN = 1;
/** Smaller kinds aren't results. */
export const RESULT = 16;
const IS_OK = 1;
const IS_DOWN = 2;
const IS_DEGRADED = 4;
const IS_COVERED = 8;

const TOOK_PER_MS = 10;

type Result = Omit<CheckResult, 'certificateEndsMs'>;

export function resultEntry(
  monitor: string,
  atMs: number,
  result: Result,
  context: ResultContext,
): HistoryEntry {
  const kind =
    RESULT * (1 + OUTCOME_NUMBERS[result.outcome]) +
    (result.ok ? IS_OK : 0) +
    (context.found === 'DOWN' ? IS_DOWN : 0) +
    (context.found === 'DEGRADED' ? IS_DEGRADED : 0) +
    (context.covered ? IS_COVERED : 0);
  const took = Math.round(result.responseTimeMs * TOOK_PER_MS);
  return { monitor, atMs, kind, took, everyMs: Math.round(context.everyMs), reason: result.reason };
}

/** The monitor was paused, or its maintenance began: the previous result counts no longer. */
export function coveredEntry(monitor: string, atMs: number): HistoryEntry {
  return { monitor, atMs, kind: COVERED, took: 0, everyMs: 0, reason: undefined };
}

export function forgottenEntry(monitor: string, atMs: number): HistoryEntry {
  return { monitor, atMs, kind: FORGOTTEN, took: 0, everyMs: 0, reason: undefined };
}

export const isResult = ({ kind }: HistoryEntry) => kind >= RESULT;
export const isForgottenEntry = ({ kind }: HistoryEntry) => kind === FORGOTTEN;
export const isOk = ({ kind }: HistoryEntry) => (kind & IS_OK) !== 0;
export const tookMs = ({ took }: HistoryEntry) => took / TOOK_PER_MS;

/** The time after the entry counts as this; after an unconfirmed failure, the next result decides. */
export function countsAs({ kind }: HistoryEntry): 'up' | 'down' | 'unseen' | 'unconfirmed' {
  if (kind < RESULT || kind & IS_COVERED) return 'unseen';
  if (kind & IS_DOWN) return 'down';
  return kind & IS_OK ? 'up' : 'unconfirmed';
}

/** The outcome of a newer version that this one doesn't know is `failed`. */
export function outcomeOf({ kind }: HistoryEntry): Outcome {
  return OUTCOMES[Math.floor(kind / RESULT) - 1] ?? 'failed';
}

/**
 * Entries as text, `monitor,before,kind,took,every,reason;…`: `before` is the time until `atMs`, and `reason` is a place in `reasons`,
 * from 1, or absent. One text, because a start reads a million entries: as lists they took 150 MB more.
 */
export const EntryText = z.object({
  /** The time of the latest entry. */
  atMs: z.int(),
  reasons: z.array(z.string()).optional(),
  entries: z.string(),
});
export type EntryText = z.infer<typeof EntryText>;

export function entriesToText(entries: readonly HistoryEntry[]): EntryText {
  const atMs = entries.reduce((latest, entry) => Math.max(latest, entry.atMs), 0);
  const reasons = new Map<string, number>();
  const rows = entries.map((entry) => {
    const { monitor, kind, took, everyMs, reason } = entry;
    const head = `${monitor},${atMs - entry.atMs},${kind}`;
    if (!isResult(entry)) return head;
    const row = `${head},${took},${everyMs}`;
    if (reason === undefined) return row;
    const place = reasons.get(reason) ?? reasons.size + 1;
    reasons.set(reason, place);
    return `${row},${place}`;
  });
  return {
    atMs,
    reasons: reasons.size > 0 ? [...reasons.keys()] : undefined,
    entries: rows.join(';'),
  };
}

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const ZERO = 0x30;

/**
 * Parses entries character by character. `split` takes 1.3 s more for the 1.7 million results of a start, 16 % of its CPU
 * in docs/speed.md.
 */
export function entriesFromText(
  { atMs, reasons = [], entries: text }: EntryText,
  names: NamePool = createNamePool(),
): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  const numbers = new Float64Array(5);
  for (let at = 0; at < text.length; ) {
    const nameEnd = text.indexOf(',', at);
    if (nameEnd === -1) break;
    const monitor = names.of(text.slice(at, nameEnd));
    at = numbersAt(text, nameEnd + 1, numbers);
    entries.push({
      monitor,
      atMs: atMs - (numbers[0] ?? 0),
      kind: numbers[1] ?? 0,
      took: numbers[2] ?? 0,
      everyMs: numbers[3] ?? 0,
      reason: reasons[(numbers[4] ?? 0) - 1],
    });
  }
  return entries;
}

/** Reads the numbers of a row, 0 for missing ones; returns where the next row begins. */
function numbersAt(text: string, from: number, numbers: Float64Array): number {
  let at = from;
  for (let column = 0; column < numbers.length; column += 1) {
    let value = 0;
    let code = at < text.length ? text.charCodeAt(at) : SEMICOLON;
    while (code >= ZERO && code < ZERO + 10) {
      value = 10 * value + code - ZERO;
      at += 1;
      code = at < text.length ? text.charCodeAt(at) : SEMICOLON;
    }
    numbers[column] = value;
    if (code === COMMA) at += 1;
  }
  while (at < text.length && text.charCodeAt(at) !== SEMICOLON) at += 1;
  return at + 1;
}

export type NamePool = ReturnType<typeof createNamePool>;

/** Keeps one copy of each name. A name that is a slice of a text would keep the whole text in memory. */
export function createNamePool() {
  const known = new Map<string, string>();
  return {
    of(part: string): string {
      const name = known.get(part);
      if (name !== undefined) return name;
      const copy = Buffer.from(part).toString();
      known.set(copy, copy);
      return copy;
    },
  };
}
