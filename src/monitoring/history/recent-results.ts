import type { Entry } from './result-record.ts';

/** Results of each monitor in memory: two hours of one that is checked each minute, in 1.7 KB. */
export const RECENT_COUNT = 120;

/** Monitors whose results share their arrays: an array for each would cost more than what is in it. */
const PAGE_SLOTS = 64;

/** Reasons in memory; an entry with one more is kept there without, and with it in the journal. */
const REASONS_COUNT = 65_535;

/** The newest entries of every monitor, in typed arrays. */
export type RecentResults = ReturnType<typeof createRecentResults>;

export function createRecentResults() {
  const pages: Page[] = [];
  const slots = new Map<string, number>();
  const free: number[] = [];
  const shared = createSharedFields();

  function slotOf(monitor: string): number {
    const known = slots.get(monitor);
    if (known !== undefined) return known;
    if (free.length === 0) {
      const first = pages.push(createPage()) * PAGE_SLOTS - PAGE_SLOTS;
      for (let slot = first + PAGE_SLOTS - 1; slot >= first; slot -= 1) free.push(slot);
    }
    const slot = free.pop() ?? 0;
    slots.set(monitor, slot);
    return slot;
  }

  function placeOf(slot: number): { page: Page; row: number; first: number } {
    const page = pages[Math.floor(slot / PAGE_SLOTS)];
    if (page === undefined) throw new RangeError(`No page for slot ${slot}.`);
    const row = slot % PAGE_SLOTS;
    return { page, row, first: row * RECENT_COUNT };
  }

  return {
    add(entry: Entry): void {
      const { page, row, first } = placeOf(slotOf(entry.monitor));
      const added = page.added[row] ?? 0;
      const at = first + (added % RECENT_COUNT);
      const before = added === 0 ? 0 : (page.shared[first + ((added - 1) % RECENT_COUNT)] ?? 0);
      if (added >= RECENT_COUNT) shared.release(page.shared[at] ?? 0);
      page.seconds[at] = Math.floor(entry.atMs / 1000);
      page.millis[at] = entry.atMs % 1000;
      page.took[at] = entry.took;
      page.shared[at] = shared.take(entry, before);
      // Stays below twice the ring: more would say nothing else.
      page.added[row] = added + 1 === 2 * RECENT_COUNT ? RECENT_COUNT : added + 1;
    },

    /** Oldest first. */
    of(monitor: string): Entry[] {
      const slot = slots.get(monitor);
      if (slot === undefined) return [];
      const { page, row, first } = placeOf(slot);
      const added = page.added[row] ?? 0;
      const count = Math.min(added, RECENT_COUNT);
      return Array.from({ length: count }, (_, index) => {
        const at = first + ((added - count + index) % RECENT_COUNT);
        const atMs = (page.seconds[at] ?? 0) * 1000 + (page.millis[at] ?? 0);
        const { kind, everyMs, reason } = shared.of(page.shared[at] ?? 0);
        return { monitor, atMs, kind, took: page.took[at] ?? 0, everyMs, reason };
      });
    },

    /** Whether older ones had to go. */
    isFull(monitor: string): boolean {
      const slot = slots.get(monitor);
      if (slot === undefined) return false;
      const { page, row } = placeOf(slot);
      return (page.added[row] ?? 0) >= RECENT_COUNT;
    },

    forget(monitor: string): void {
      const slot = slots.get(monitor);
      if (slot === undefined) return;
      const { page, row, first } = placeOf(slot);
      const count = Math.min(page.added[row] ?? 0, RECENT_COUNT);
      for (let at = first; at < first + count; at += 1) shared.release(page.shared[at] ?? 0);
      page.added[row] = 0;
      slots.delete(monitor);
      free.push(slot);
    },
  };
}

type Page = ReturnType<typeof createPage>;

function createPage() {
  const count = PAGE_SLOTS * RECENT_COUNT;
  return {
    // Together the time: one number for both would need eight bytes.
    seconds: new Uint32Array(count),
    millis: new Uint16Array(count),
    took: new Uint32Array(count),
    /** Numbers of what an entry shares with others. */
    shared: new Uint32Array(count),
    added: new Uint16Array(PAGE_SLOTS),
  };
}

/** What an entry shares with most others. */
type SharedFields = Pick<Entry, 'kind' | 'everyMs' | 'reason'>;

const NO_FIELDS: SharedFields = { kind: 0, everyMs: 0, reason: undefined };

/** Shared fields with numbers from 1, each kept once and as long as somebody holds it. */
function createSharedFields() {
  const numbers = new Map<string, number>();
  const all: Array<{ fields: SharedFields; holders: number } | undefined> = [undefined];
  const free: number[] = [];
  let reasons = 0;

  function make({ kind, everyMs, reason }: SharedFields): number {
    const number = free.pop() ?? all.length;
    const fields = { kind, everyMs, reason };
    all[number] = { fields, holders: 1 };
    numbers.set(keyOf(fields), number);
    if (reason !== undefined) reasons += 1;
    return number;
  }

  function take(wanted: SharedFields, likely: number): number {
    const guess = all[likely];
    const number = guess && isSame(guess.fields, wanted) ? likely : numbers.get(keyOf(wanted));
    const kept = number === undefined ? undefined : all[number];
    if (number !== undefined && kept) {
      kept.holders += 1;
      return number;
    }
    const hasRoom = wanted.reason === undefined || reasons < REASONS_COUNT;
    return hasRoom ? make(wanted) : take({ ...wanted, reason: undefined }, 0);
  }

  return {
    /** The number of shared fields; most often it is that of the entry before. */
    take,
    release(number: number) {
      const kept = all[number];
      if (!kept) return;
      kept.holders -= 1;
      if (kept.holders > 0) return;
      if (kept.fields.reason !== undefined) reasons -= 1;
      all[number] = undefined;
      numbers.delete(keyOf(kept.fields));
      free.push(number);
    },
    of: (number: number) => all[number]?.fields ?? NO_FIELDS,
  };
}

function isSame(a: SharedFields, b: SharedFields): boolean {
  return a.kind === b.kind && a.everyMs === b.everyMs && a.reason === b.reason;
}

function keyOf({ kind, everyMs, reason }: SharedFields): string {
  return reason === undefined ? `${kind},${everyMs}` : `${kind},${everyMs},${reason}`;
}
