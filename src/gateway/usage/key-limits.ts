import { ErrorCode } from '../../contracts/error.ts';
import { LimitHeader } from '../../contracts/gateway.ts';
import type { KeyLimits } from '../../contracts/key-limits.ts';
import { HttpError } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import { type Awaitable, whenKnown } from '../../store/awaitable.ts';
import type { Hold, Reservation, Spending, UsageBooks } from '../../store/usage.ts';
import type { Taken, Windows, WindowView } from '../../store/windows.ts';

export const WINDOW_MS = 60_000;

/** Counters that limits are checked against. */
interface LimitCounters {
  /** Requests of keys in the last minute. */
  windows: Windows;
  /** Tokens of keys. */
  books: UsageBooks;
  /** Clock of both, milliseconds. */
  steadyMs: () => number;
}

/**
 * Enforces the limits of keys. Tokens count in the minute, day and month in which their request ended; until then its
 * reserved tokens count. So no 60 seconds, no day and no month exceed their limit, as long as requests use no more than was
 * reserved for them.
 */
export function createKeyLimiter(counts: LimitCounters) {
  const { windows, books, steadyMs } = counts;
  return {
    /** Returns the allowance of one request; `undefined` if its key has no limits. */
    open: (key: KeyInfo): Allowance | undefined =>
      key.limits && new Allowance(key.id, key.limits, counts),
    /** Remaining amount of each limit of a key. */
    left({ id, limits = {} }: KeyInfo): Awaitable<KeyLimits> {
      const requests = limits.requestsPerMinute === undefined ? undefined : windows.look(id);
      return whenKnown(requests, (window) => {
        const spending = countsTokens(limits) ? books.spending(id) : undefined;
        return whenKnown(spending, (tokens) => leftOf(limits, window, tokens, steadyMs()));
      });
    },
  };
}

function leftOf(
  limits: KeyLimits,
  requests: WindowView | undefined,
  tokens: Spending | undefined,
  nowMs: number,
): KeyLimits {
  const { requestsPerMinute, tokensPerMinute, tokensPerDay, tokensPerMonth } = limits;
  const left = <Name extends keyof KeyLimits>(name: Name, limit?: number, used = 0) =>
    limit === undefined ? {} : { [name]: Math.max(0, limit - used) };
  const { minute, day = 0, month = 0, reserved = 0 } = tokens ?? {};
  return {
    ...left('requestsPerMinute', requestsPerMinute, requests?.used(nowMs)),
    ...left('tokensPerMinute', tokensPerMinute, (minute?.used(nowMs) ?? 0) + reserved),
    ...left('tokensPerDay', tokensPerDay, day + reserved),
    ...left('tokensPerMonth', tokensPerMonth, month + reserved),
  };
}

const countsTokens = ({ tokensPerMinute, tokensPerDay, tokensPerMonth }: KeyLimits) =>
  (tokensPerMinute ?? tokensPerDay ?? tokensPerMonth) !== undefined;

/**
 * One request's share of its key's limits. Counters in memory are changed at once, others when the promise resolves. A
 * class, because every request creates one.
 */
export class Allowance {
  readonly countsTokens: boolean;
  private readonly keyId: string;
  private readonly limits: KeyLimits;
  private readonly counts: LimitCounters;
  private taken: Taken | undefined;
  private hold: Hold | undefined;
  private settled = false;

  constructor(keyId: string, limits: KeyLimits, counts: LimitCounters) {
    this.keyId = keyId;
    this.limits = limits;
    this.counts = counts;
    this.countsTokens = countsTokens(limits);
  }

  /** LimitCounters the request towards the requests per minute. Throws the 429. */
  takeRequest(): Awaitable<void> {
    const { requestsPerMinute } = this.limits;
    if (requestsPerMinute === undefined || this.taken !== undefined || this.settled) return;
    const { windows, steadyMs } = this.counts;
    return whenKnown(windows.take(this.keyId, requestsPerMinute), (taken) => {
      if (taken.place !== undefined) {
        this.taken = taken;
        return;
      }
      throw this.rateLimited(
        'requests',
        taken.window.waitMs(requestsPerMinute - 1, steadyMs()),
        `This key has reached its limit of ${requestsPerMinute} ${requestsPerMinute === 1 ? 'request' : 'requests'} per minute.`,
      );
    });
  }

  /** Reserves tokens, in place of the earlier reservation. Throws the 429; the request then counts as never made. */
  reserve(promptTokens: number, replyTokens: number): Awaitable<void> {
    // A request whose client left is settled already, so nobody would release a new reservation.
    if (this.settled || !this.countsTokens) return;
    const before = this.hold;
    this.hold = undefined;
    const prompt = Math.ceil(promptTokens);
    const reply = Math.ceil(replyTokens);
    const { books } = this.counts;
    return whenKnown(
      books.reserve(this.keyId, prompt + reply, this.limits, before),
      (reservation) => this.reserved(reservation, prompt, reply),
    );
  }

  private reserved(
    { hold, spending }: Reservation,
    prompt: number,
    reply: number,
  ): Awaitable<void> {
    if (hold) {
      // The client has left.
      if (this.settled) this.counts.books.giveBack(this.keyId, hold);
      else this.hold = hold;
      return;
    }
    const { taken } = this;
    const refusal = this.refusalOf(prompt, reply, spending);
    this.taken = undefined;
    const takenBack = taken && this.counts.windows.takeBack(this.keyId, taken);
    return whenKnown(takenBack, () => {
      throw refusal;
    });
  }

  /** Returns the reserved tokens, which are entered with the used ones. The request reserves nothing from now on. */
  settle(): Hold | undefined {
    this.settled = true;
    const { hold } = this;
    this.hold = undefined;
    return hold;
  }

  /** Adds the headers of the limits by the minute, names and values in turn. */
  addHeaders(headers: string[]): void {
    const { requestsPerMinute, tokensPerMinute } = this.limits;
    const { windows, books, steadyMs } = this.counts;
    const now = steadyMs();
    const requests = requestsPerMinute === undefined ? undefined : windows.known(this.keyId);
    if (requestsPerMinute !== undefined && requests) {
      const left = Math.max(0, requestsPerMinute - requests.used(now));
      headers.push(LimitHeader.limitRequests, String(requestsPerMinute));
      headers.push(LimitHeader.remainingRequests, String(left));
      headers.push(LimitHeader.resetRequests, duration(requests.emptyMs(now)));
    }
    const tokens = tokensPerMinute === undefined ? undefined : books.known(this.keyId);
    if (tokensPerMinute !== undefined && tokens) {
      const { minute, reserved } = tokens;
      const left = Math.max(0, tokensPerMinute - minute.used(now) - reserved);
      // Reserved tokens count for a minute from their use.
      const resetMs = reserved > 0 ? WINDOW_MS : minute.emptyMs(now);
      headers.push(LimitHeader.limitTokens, String(tokensPerMinute));
      headers.push(LimitHeader.remainingTokens, String(left));
      headers.push(LimitHeader.resetTokens, duration(resetMs));
    }
  }

  headers(): Record<string, string> {
    const list: string[] = [];
    this.addHeaders(list);
    const headers: Record<string, string> = {};
    for (let at = 0; at < list.length; at += 2) headers[list[at] ?? ''] = list[at + 1] ?? '';
    return headers;
  }

  /** Creates the 429 of a request that may be granted after a wait. */
  private rateLimited(type: string, waitMs: number, state: string): HttpError {
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    return new HttpError(
      429,
      ErrorCode.rateLimited,
      `${state} Wait ${seconds} s (Retry-After) and try again. ${WHO}`,
      { type, headers: { ...this.headers(), 'retry-after': String(seconds) } },
    );
  }

  /** Creates the 429 of a request that can't be granted, however often it is repeated. */
  private quotaUsedUp(type: string, message: string): HttpError {
    return new HttpError(429, ErrorCode.insufficientQuota, `${message} ${WHO}`, {
      type,
      // Clients repeat every 429 on their own otherwise.
      headers: { ...this.headers(), 'x-should-retry': 'false' },
    });
  }

  /** Creates the refusal for a number of tokens, by the usage and reservations at that moment. */
  private refusalOf(prompt: number, reply: number, spending: Spending): HttpError {
    const { tokensPerMinute, tokensPerDay, tokensPerMonth } = this.limits;
    const { minute, reserved } = spending;
    const need = prompt + reply;
    const needs = () =>
      `this request needs about ${need} (${prompt} for the prompt, up to ${reply} for the answer)`;
    const spentOf = (limit: number, period: string, used: number) =>
      `This key may use ${limit} tokens per ${period}: ${used} are used, ${reserved} are reserved for requests in progress, and ${needs()}.`;
    if (tokensPerMinute !== undefined && !(need <= tokensPerMinute)) {
      return this.quotaUsedUp(
        'tokens',
        `This key may use ${tokensPerMinute} tokens per minute, but ${needs()}. Send less, or ask for a shorter answer with max_tokens.`,
      );
    }
    for (const [period, limit] of [
      ['day', tokensPerDay],
      ['month', tokensPerMonth],
    ] as const) {
      const used = spending[period];
      if (limit === undefined || used + reserved + need <= limit) continue;
      const state = spentOf(limit, period, used);
      // Requests mostly use less than was reserved for them.
      if (used + need <= limit) return this.rateLimited('tokens', 0, state);
      const unixMs = this.counts.books.nowMs();
      const nextStart = new Date(nextStartMs(period, unixMs)).toISOString().slice(0, 16);
      return this.quotaUsedUp(
        ErrorCode.insufficientQuota,
        `${state} The next ${period} begins at ${nextStart}Z.`,
      );
    }
    const limit = tokensPerMinute ?? 0;
    const now = this.counts.steadyMs();
    const waitMs = minute.waitMs(limit - reserved - need, now);
    return this.rateLimited('tokens', waitMs, spentOf(limit, 'minute', minute.used(now)));
  }
}

const WHO = "The gateway's operator can change the limit (askwatch keys limit).";

function nextStartMs(period: 'day' | 'month', nowMs: number): number {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, now.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** Writes a time as `12ms`, `8.64s` or `6m0s`. */
function duration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole - minutes * 60_000) / 1000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
