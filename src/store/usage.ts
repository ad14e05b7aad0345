import type { Awaitable } from './awaitable.ts';
import type { WindowView } from './windows.ts';

/** Stored ends are places in this list, so new ones are added at its end. */
export const ENDS = ['complete', 'client_gone', 'upstream_error', 'refused'] as const;

/** How a request ended. */
export type RequestEnd = (typeof ENDS)[number];

/** One request; nothing of its question or answer. */
export interface UsageRecord {
  /** Time when the request ended; it came `latencyMs` earlier. */
  atMs: number;
  keyId: string;
  /** Id of the catalog; absent if the request named none that exists. */
  model?: string;
  /** The provider that answered, or the last one that was asked. */
  provider?: string;
  promptTokens: number;
  completionTokens: number;
  estimated: boolean;
  latencyMs: number;
  firstTokenMs?: number;
  end: RequestEnd;
}

/** Counts of one key and model in some time. */
export interface UsageCounts extends Record<RequestEnd, number> {
  keyId: string;
  /** `unknown` for requests that named no model of the catalog. */
  model: string;
  /** The sum of how they ended. */
  requests: number;
  promptTokens: number;
  completionTokens: number;
  /** Requests whose tokens are our estimate. */
  estimated: number;
}

/** Counts of one UTC day, such as `2026-12-01`. */
export interface UsageRow extends UsageCounts {
  day: string;
}

/** Both days are included; by default today. */
export interface UsageQuery {
  keyId?: string;
  fromDay?: string;
  toDay?: string;
}

export interface Spending {
  /** Tokens of the last minute, by the steady clock of this process. */
  minute: WindowView;
  /** Tokens of today and of this month, of the UTC calendar. */
  day: number;
  month: number;
  reserved: number;
}

export interface TokenLimits {
  tokensPerMinute?: number;
  tokensPerDay?: number;
  tokensPerMonth?: number;
}

export interface Hold {
  /** Empty where it needs none. */
  readonly id: string;
  readonly tokens: number;
}

export interface Reservation {
  /** `undefined` when so many tokens do not fit: then nothing is set aside. */
  hold: Hold | undefined;
  /** Spending at the moment of the decision, with the new reservation if there is one. */
  spending: Spending;
}

/** Usage of all processes together, and reserved tokens. */
export interface UsageBooks {
  /** Unix time that never goes back to an earlier day. */
  nowMs(): number;
  /** Enters a request that has ended, in place of what was set aside for it; stored a moment later. */
  addRequest(record: UsageRecord, hold?: Hold): void;
  /**
   * Reserves tokens in place of `before` if they fit into the limits, until the request is entered, the hold is given back, or this
   * process is dead.
   */
  reserve(
    keyId: string,
    tokens: number,
    limits: TokenLimits,
    before?: Hold,
  ): Awaitable<Reservation>;
  /** Gives back what was set aside for a request that was entered before that was known. */
  giveBack(keyId: string, hold: Hold): void;
  spending(keyId: string): Awaitable<Spending>;
  /** The last known value in this process. */
  known(keyId: string): Spending | undefined;
  /** Rows in order of day, key and model. */
  summary(query: UsageQuery): Promise<UsageRow[]>;
  /** Makes these the counts of all days, for a move from another store. */
  replaceDays(rows: readonly UsageRow[]): Promise<void>;
  /** Removes what is older than is kept. */
  tidy(): Promise<void>;
  waiting(): number;
  /** Stores the waiting requests. */
  close(): Promise<void>;
}

export const USAGE_KEPT_DAYS = 400;
