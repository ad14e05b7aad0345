import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Entry } from './result-record.ts';

/** Entries that are put together: ten of each of 10,000 monitors, in 4.4 MB. */
const GATHERED_COUNT = 100_000;

/** Entries given at a time: about a millisecond of work. */
const PART_COUNT = 1_000;

/**
 * The same entries with those of a monitor together, as far as they come near each other; for each monitor in their order.
 * What is known of a monitor is then fetched into the caches of the CPU once for ten entries: one by one, a start took three
 * times as long.
 */
export async function* byMonitor(
  source: AsyncIterable<readonly Entry[]>,
  gatheredCount = GATHERED_COUNT,
): AsyncGenerator<Entry[]> {
  const gathered = createGathered();
  for await (const entries of source) {
    for (const entry of entries) gathered.add(entry);
    if (gathered.count() >= gatheredCount) yield* inTurns(gathered.takeAll());
  }
  yield* inTurns(gathered.takeAll());
}

async function* inTurns(entries: Iterable<Entry>): AsyncGenerator<Entry[]> {
  let part: Entry[] = [];
  for (const entry of entries) {
    part.push(entry);
    if (part.length < PART_COUNT) continue;
    yield part;
    part = [];
    await yieldToEventLoop();
  }
  if (part.length > 0) yield part;
}

/** Numbers of an entry in a row: time, kind, response time, interval, place of the reason. */
const COLUMNS = 5;
const NONE = -1;

/** Entries as rows of numbers, each with the place of the next one of its monitor: objects would become garbage that lasts. */
function createGathered() {
  const chains = new Map<string, { monitor: string; first: number; last: number }>();
  const reasons: Array<string | undefined> = [undefined];
  const reasonPlaces = new Map<string | undefined, number>([[undefined, 0]]);
  let rows = new Float64Array(1_024 * COLUMNS);
  let next = new Int32Array(1_024);
  let count = 0;

  function grow() {
    const wider = new Float64Array(2 * rows.length);
    wider.set(rows);
    rows = wider;
    const longer = new Int32Array(2 * next.length);
    longer.set(next);
    next = longer;
  }

  function link(monitor: string, row: number) {
    next[row] = NONE;
    const chain = chains.get(monitor);
    if (!chain) {
      chains.set(monitor, { monitor, first: row, last: row });
      return;
    }
    if (chain.first === NONE) chain.first = row;
    else next[chain.last] = row;
    chain.last = row;
  }

  function placeOf(reason: string | undefined): number {
    const known = reasonPlaces.get(reason);
    if (known !== undefined) return known;
    reasonPlaces.set(reason, reasons.length);
    return reasons.push(reason) - 1;
  }

  function entryAt(monitor: string, row: number): Entry {
    const at = row * COLUMNS;
    return {
      monitor,
      atMs: rows[at] ?? 0,
      kind: rows[at + 1] ?? 0,
      took: rows[at + 2] ?? 0,
      everyMs: rows[at + 3] ?? 0,
      reason: reasons[rows[at + 4] ?? 0],
    };
  }

  return {
    add({ monitor, atMs, kind, took, everyMs, reason }: Entry) {
      if (count === next.length) grow();
      link(monitor, count);
      const at = count * COLUMNS;
      rows[at] = atMs;
      rows[at + 1] = kind;
      rows[at + 2] = took;
      rows[at + 3] = everyMs;
      rows[at + 4] = placeOf(reason);
      count += 1;
    },
    count: () => count,
    /** Gives all, and is empty then. */
    *takeAll(): Generator<Entry> {
      for (const chain of chains.values()) {
        for (let row = chain.first; row !== NONE; row = next[row] ?? NONE) {
          yield entryAt(chain.monitor, row);
        }
        chain.first = NONE;
      }
      count = 0;
      reasons.length = 1;
      reasonPlaces.clear();
      reasonPlaces.set(undefined, 0);
    },
  };
}
