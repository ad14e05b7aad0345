import { z } from 'zod';
import type { CheckResult, Outcome } from '../checks/check-result.ts';
import type { FoundStatus } from '../state/state.ts';

/** How a result counts for the time after it. */
export interface ResultContext {
  /** The status that it left. */
  found: FoundStatus;
  /** How often the monitor is checked: a result is worth at most twice that. */
  everyMs: number;
  /** In maintenance or paused: the time is not seen. */
  covered: boolean;
}

/**
 * What happened to a monitor, as far as its results and the time that was seen go: a result, or that it was covered or forgotten.
 * Flat, as it stands in the journal, because a start reads a million of them.
 */
export interface Entry {
  monitor: string;
  atMs: number;
  /** What it is: for a result its outcome, its status, and whether it was covered. */
  kind: number;
  /** The response time in tenths of a millisecond, a whole number; as exact as it is measured. */
  took: number;
  everyMs: number;
  reason: string | undefined;
}

/** What an outcome is in the journal: a number once given stays. */
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
/** Kinds below are no results. */
export const RESULT = 16;
/** What stands beside the outcome in the kind of a result. */
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
): Entry {
  const kind =
    RESULT * (1 + OUTCOME_NUMBERS[result.outcome]) +
    (result.ok ? IS_OK : 0) +
    (context.found === 'DOWN' ? IS_DOWN : 0) +
    (context.found === 'DEGRADED' ? IS_DEGRADED : 0) +
    (context.covered ? IS_COVERED : 0);
  const took = Math.round(result.responseTimeMs * TOOK_PER_MS);
  return { monitor, atMs, kind, took, everyMs: Math.round(context.everyMs), reason: result.reason };
}

/** It was paused, or maintenance began: the result before is worth nothing from here. */
export function coveredEntry(monitor: string, atMs: number): Entry {
  return { monitor, atMs, kind: COVERED, took: 0, everyMs: 0, reason: undefined };
}

/** It was removed for good. */
export function forgottenEntry(monitor: string, atMs: number): Entry {
  return { monitor, atMs, kind: FORGOTTEN, took: 0, everyMs: 0, reason: undefined };
}

export const isResult = ({ kind }: Entry) => kind >= RESULT;
export const isForgottenEntry = ({ kind }: Entry) => kind === FORGOTTEN;
export const isOk = ({ kind }: Entry) => (kind & IS_OK) !== 0;
export const tookMs = ({ took }: Entry) => took / TOOK_PER_MS;

/** What the time after an entry counts as; after a failure that is not confirmed, the next result decides. */
export function countsAs({ kind }: Entry): 'up' | 'down' | 'unseen' | 'unconfirmed' {
  if (kind < RESULT || kind & IS_COVERED) return 'unseen';
  if (kind & IS_DOWN) return 'down';
  return kind & IS_OK ? 'up' : 'unconfirmed';
}

/** An outcome of a newer program is a failure of a kind that this one does not know. */
export function outcomeOf({ kind }: Entry): Outcome {
  return OUTCOMES[Math.floor(kind / RESULT) - 1] ?? 'failed';
}

/**
 * Entries as text, `monitor,before,kind,took,every,reason;…`: how long before `atMs`, and the place of the reason from 1, or
 * nothing. One text, because a start reads a million entries: as lists they took 150 MB more before they were read.
 */
export const EntryText = z.object({
  /** The latest of their times. */
  atMs: z.int(),
  reasons: z.array(z.string()).optional(),
  entries: z.string(),
});
export type EntryText = z.infer<typeof EntryText>;

export function entriesToText(entries: readonly Entry[]): EntryText {
  const atMs = entries.reduce((latest, entry) => Math.max(latest, entry.atMs), 0);
  const reasons = createPlaces();
  const rows = entries.map((entry) => {
    const { monitor, kind, took, everyMs, reason } = entry;
    const head = `${monitor},${atMs - entry.atMs},${kind}`;
    if (!isResult(entry)) return head;
    const row = `${head},${took},${everyMs}`;
    return reason === undefined ? row : `${row},${1 + reasons.of(reason)}`;
  });
  const texts = reasons.all.length > 0 ? { reasons: reasons.all } : {};
  return { atMs, ...texts, entries: rows.join(';') };
}

const COMMA = 0x2c;

const SEMICOLON = 0x3b;

const ZERO = 0x30;

/** The entries of a text, character by character: taking them apart as texts takes twice the time. */
export function entriesFromText(
  { atMs, reasons = [], entries: text }: EntryText,
  names: Names = createNames(),
): Entry[] {
  const entries: Entry[] = [];
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

/** Reads the numbers of a row, 0 for those that are missing; gives where the next row begins. */
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

export type Names = ReturnType<typeof createNames>;

/** Names, each once, however often it is read: a name cut out of a text would keep all of that text in memory. */
export function createNames() {
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

/** Texts, each once, and the place of each. */
function createPlaces() {
  const all: string[] = [];
  const places = new Map<string, number>();
  return {
    all,
    of(text: string): number {
      const known = places.get(text) ?? all.push(text) - 1;
      places.set(text, known);
      return known;
    },
  };
}
