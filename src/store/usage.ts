import type { Awaitable } from './awaitable.ts';
import type { WindowView } from './windows.ts';

/** In what is stored an end may be its place in this list, so new ones are added at its end. */
export const ENDS = ['complete', 'client_gone', 'upstream_error', 'refused'] as const;

/** How a request ended. */
export type RequestEnd = (typeof ENDS)[number];

/** One request of a key holder; nothing of what was asked or answered. */
export interface UsageRecord {
  /** When the request ended, so that a day's records are complete soon after the day; it came `latencyMs` earlier. */
  atMs: number;
  keyId: string;
  /** Id of the catalog, as asked for; absent when the request named none that exists. */
  model?: string;
  /** The provider that answered, or the last one that was asked. */
  provider?: string;
  promptTokens: number;
  completionTokens: number;
  /** The tokens are our estimate, because the provider told none. */
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

/** Counts of one day of the UTC calendar, such as `2026-12-01`. */
export interface UsageRow extends UsageCounts {
  day: string;
}

/** Which rows: of one key or all; from and to days that are included, both today when absent. */
export interface UsageQuery {
  keyId?: string;
  fromDay?: string;
  toDay?: string;
}

/** Used tokens of a key, and tokens reserved for its requests under way. */
export interface Spending {
  /** Tokens of the last minute, by the steady clock of this process. */
  minute: WindowView;
  /** Tokens of today and of this month, of the UTC calendar. */
  day: number;
  month: number;
  reserved: number;
}

/** Tokens that a key may use; a limit that is absent is none. */
export interface TokenLimits {
  tokensPerMinute?: number;
  tokensPerDay?: number;
  tokensPerMonth?: number;
}

/** Tokens that are set aside for one request. */
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
  /** The present moment, Unix time; it never goes back to a day before. */
  nowMs(): number;
  /** Enters a request that has ended, in place of what was set aside for it; stored a moment later. */
  addRequest(record: UsageRecord, hold?: Hold): void;
  /**
   * Sets tokens aside if they fit into the limits, in place of `before`. It holds until the request is entered or the hold is
   * given back, or this process lives no more.
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
  /** Number of requests that aren't stored yet. */
  waiting(): number;
  /** Stores the waiting requests. */
  close(): Promise<void>;
}

/** Days that usage is kept: a year to compare with, and some. */
export const USAGE_KEPT_DAYS = 400;
