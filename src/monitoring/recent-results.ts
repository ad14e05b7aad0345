import { type Entry, entryOf, kindOf, tookOf } from './results-journal.ts';

/** Results of each monitor in memory: two hours of one that is looked at each minute, in 2.5 KB. */
export const RECENT_COUNT = 120;

/** Monitors whose results share their arrays: an array for each would cost more than what is in it. */
const PAGE_SLOTS = 64;

/** Different reasons in memory; one more is not kept there, but in the journal. */
const REASONS_COUNT = 65_535;

/** The newest entries of every monitor, in typed arrays. */
export interface RecentResults {
  add(entry: Exclude<Entry, { what: 'forgotten' }>): void;
  /** Oldest first. */
  of(monitor: string): Entry[];
  /** Whether older ones had to go. */
  isFull(monitor: string): boolean;
  forget(monitor: string): void;
}

export function createRecentResults(): RecentResults {
  const pages: Page[] = [];
  const slots = new Map<string, number>();
  const free: number[] = [];
  const reasons = createReasons();

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
    if (page === undefined) throw new RangeError(`there is no page for slot ${slot}`);
    const row = slot % PAGE_SLOTS;
    return { page, row, first: row * RECENT_COUNT };
  }

  return {
    add(entry) {
      const { page, row, first } = placeOf(slotOf(entry.monitor));
      const added = page.added[row] ?? 0;
      const at = first + (added % RECENT_COUNT);
      if (added >= RECENT_COUNT) reasons.release(page.reason[at] ?? 0);
      const isResult = entry.what === 'result';
      page.atMs[at] = entry.atMs;
      page.kind[at] = kindOf(entry);
      page.took[at] = isResult ? tookOf(entry.result.responseTimeMs) : 0;
      page.everyMs[at] = isResult ? entry.seen.everyMs : 0;
      page.reason[at] = isResult ? reasons.take(entry.result.reason) : 0;
      // Stays below twice the ring: more would say nothing else.
      page.added[row] = added + 1 === 2 * RECENT_COUNT ? RECENT_COUNT : added + 1;
    },

    of(monitor) {
      const slot = slots.get(monitor);
      if (slot === undefined) return [];
      const { page, row, first } = placeOf(slot);
      const added = page.added[row] ?? 0;
      const count = Math.min(added, RECENT_COUNT);
      return Array.from({ length: count }, (_, index) => {
        const at = first + ((added - count + index) % RECENT_COUNT);
        return entryOf(monitor, page.atMs[at] ?? 0, page.kind[at] ?? 0, {
          took: page.took[at] ?? 0,
          everyMs: page.everyMs[at] ?? 0,
          reason: reasons.text(page.reason[at] ?? 0),
        });
      });
    },

    isFull(monitor) {
      const slot = slots.get(monitor);
      if (slot === undefined) return false;
      const { page, row } = placeOf(slot);
      return (page.added[row] ?? 0) >= RECENT_COUNT;
    },

    forget(monitor) {
      const slot = slots.get(monitor);
      if (slot === undefined) return;
      const { page, row, first } = placeOf(slot);
      const count = Math.min(page.added[row] ?? 0, RECENT_COUNT);
      for (let at = first; at < first + count; at += 1) reasons.release(page.reason[at] ?? 0);
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
    atMs: new Float64Array(count),
    kind: new Uint16Array(count),
    took: new Uint32Array(count),
    everyMs: new Uint32Array(count),
    reason: new Uint16Array(count),
    added: new Uint16Array(PAGE_SLOTS),
  };
}

/** Texts with numbers from 1, each kept once and as long as somebody holds it; 0 is none. */
function createReasons() {
  const numbers = new Map<string, number>();
  const texts: Array<{ text: string; holders: number } | undefined> = [undefined];
  const free: number[] = [];
  return {
    take(text: string | undefined): number {
      if (text === undefined) return 0;
      const known = numbers.get(text);
      const kept = known === undefined ? undefined : texts[known];
      if (known !== undefined && kept) {
        kept.holders += 1;
        return known;
      }
      const number = free.pop() ?? texts.length;
      if (number > REASONS_COUNT) return 0;
      texts[number] = { text, holders: 1 };
      numbers.set(text, number);
      return number;
    },
    release(number: number) {
      const kept = texts[number];
      if (!kept) return;
      kept.holders -= 1;
      if (kept.holders > 0) return;
      texts[number] = undefined;
      numbers.delete(kept.text);
      free.push(number);
    },
    text: (number: number) => texts[number]?.text,
  };
}
