import type { Logger } from 'pino';
import { createSlidingWindow } from '../../store/sliding-window.ts';
import type { Store } from '../../store/store.ts';
import type { Hold, Reservation, Spending, TokenLimits, UsageBooks } from '../../store/usage.ts';
import { openUsageDays, type Spent } from './days.ts';
import { createUsageWriter, usageJournal } from './journal.ts';

const MINUTE_MS = 60_000;

/** Bounds what a window holds to 3,000 entries; a limit frees up by so much later at most. */
export const STEP_MS = 20;

/** Live usage of one key. */
class KeySpending implements Spending {
  readonly minute = createSlidingWindow(MINUTE_MS, STEP_MS);
  reserved = 0;
  private readonly spent: Spent;

  constructor(spent: Spent) {
    this.spent = spent;
  }

  get day(): number {
    return this.spent.day;
  }

  get month(): number {
    return this.spent.month;
  }
}

/**
 * Opens the books of the only process on a store: requests go to the journal `gateway-usage`, sums are in memory, and
 * sums of past days in documents. Without a store everything is in memory.
 */
export async function openJournalBooks(options: {
  store?: Store;
  clocks: { unixMs: () => number; steadyMs: () => number };
  log: Logger;
}) {
  const { store, log } = options;
  const { unixMs, steadyMs } = options.clocks;
  const journal = store?.journal(usageJournal);
  const writer = journal && createUsageWriter(journal, log);
  const days = await openUsageDays({ store, journal, clockMs: unixMs, log });
  const spendings = new Map<string, KeySpending>();

  function spendingFor(keyId: string): KeySpending {
    let spending = spendings.get(keyId);
    if (!spending) {
      spending = new KeySpending(days.spentBy(keyId));
      spendings.set(keyId, spending);
    }
    return spending;
  }

  /** A new day may have begun. */
  function spendingNow(keyId: string): KeySpending {
    days.nowMs();
    return spendingFor(keyId);
  }

  return {
    nowMs: () => days.nowMs(),
    addRequest(record, hold) {
      writer?.add(record);
      days.add(record);
      if (!hold) return;
      const spending = spendingFor(record.keyId);
      spending.reserved -= hold.tokens;
      const used = record.promptTokens + record.completionTokens;
      if (used > 0) spending.minute.add(used, steadyMs());
    },
    reserve(keyId: string, tokens: number, limits: TokenLimits, before?: Hold): Reservation {
      const spending = spendingNow(keyId);
      if (before) spending.reserved -= before.tokens;
      if (!fits(spending, tokens, limits, steadyMs())) return { hold: undefined, spending };
      spending.reserved += tokens;
      return { hold: { id: '', tokens }, spending };
    },
    giveBack(keyId, { tokens }) {
      spendingFor(keyId).reserved -= tokens;
    },
    spending: spendingNow,
    known: spendingNow,
    summary: (query) => days.summary(query),
    replaceDays: (rows) => days.replaceDays(rows),
    tidy: () => days.tidy(),
    waiting: () => writer?.waiting() ?? 0,
    async close() {
      await writer?.close();
    },
  } satisfies UsageBooks;
}

/** Asked as "does it fit", so that no odd number slips through. */
function fits(
  { minute, day, month, reserved }: Spending,
  tokens: number,
  { tokensPerMinute, tokensPerDay, tokensPerMonth }: TokenLimits,
  nowMs: number,
): boolean {
  const need = reserved + tokens;
  return (
    (tokensPerMinute === undefined || minute.used(nowMs) + need <= tokensPerMinute) &&
    (tokensPerDay === undefined || day + need <= tokensPerDay) &&
    (tokensPerMonth === undefined || month + need <= tokensPerMonth)
  );
}
