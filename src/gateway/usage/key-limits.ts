import { ErrorCode } from '../../contracts/error.ts';
import { LimitHeader } from '../../contracts/gateway.ts';
import type { KeyLimits } from '../../contracts/key-limits.ts';
import { HttpError } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import { createSlidingWindow, type SlidingWindow } from '../../store/sliding-window.ts';
import type { Spent } from './days.ts';

const WINDOW_MS = 60_000;

/** Bounds what a key's windows hold to 3,000 entries each; a limit frees up by so much later at most. */
const STEP_MS = 20;

interface KeyState {
  requests: SlidingWindow;
  tokens: SlidingWindow;
  /** Tokens set aside for requests under way. */
  reserved: number;
  spent: Spent;
}

interface Clocks {
  /** Unix time, for the sentences that say when a budget begins anew. */
  nowMs: () => number;
  /** A clock that never goes back, milliseconds. */
  steadyMs: () => number;
}

/**
 * Holds keys to their limits. Tokens count in the minute, day and month in which their request ended; until then what was set
 * aside for it counts. So neither any 60 seconds nor any day or month holds more than its limit, as long as requests use no
 * more than was set aside for them.
 */
export function createKeyLimiter(options: Clocks & { spentBy: (keyId: string) => Spent }) {
  const { spentBy, ...clocks } = options;
  const { nowMs, steadyMs } = clocks;
  const states = new Map<string, KeyState>();

  function stateOf(keyId: string): KeyState {
    let state = states.get(keyId);
    if (!state) {
      state = {
        requests: createSlidingWindow(WINDOW_MS, STEP_MS),
        tokens: createSlidingWindow(WINDOW_MS, STEP_MS),
        reserved: 0,
        spent: spentBy(keyId),
      };
      states.set(keyId, state);
    }
    return state;
  }

  return {
    /** The allowance of one request; `undefined` when its key has no limits. */
    open: (key: KeyInfo): Allowance | undefined =>
      key.limits && new Allowance(key.limits, stateOf(key.id), clocks),
    /** What a key could use now, of each limit it has. */
    left(key: KeyInfo): KeyLimits {
      if (!key.limits) return {};
      const { requestsPerMinute, tokensPerMinute, tokensPerDay, tokensPerMonth } = key.limits;
      const now = steadyMs();
      nowMs();
      const { requests, tokens, reserved, spent } = stateOf(key.id);
      const left = <Name extends keyof KeyLimits>(name: Name, limit?: number, used = 0) =>
        limit === undefined ? {} : { [name]: Math.max(0, limit - used) };
      return {
        ...left('requestsPerMinute', requestsPerMinute, requests.used(now)),
        ...left('tokensPerMinute', tokensPerMinute, tokens.used(now) + reserved),
        ...left('tokensPerDay', tokensPerDay, spent.day + reserved),
        ...left('tokensPerMonth', tokensPerMonth, spent.month + reserved),
      };
    },
  };
}

/** What one request takes of the limits of its key. A class, since one is made for every request. */
export class Allowance {
  readonly countsTokens: boolean;
  private readonly limits: KeyLimits;
  private readonly state: KeyState;
  private readonly clocks: Clocks;
  private taken: number | undefined;
  private held = 0;
  private settled = false;

  constructor(limits: KeyLimits, state: KeyState, clocks: Clocks) {
    const { tokensPerMinute, tokensPerDay, tokensPerMonth } = limits;
    this.limits = limits;
    this.state = state;
    this.clocks = clocks;
    this.countsTokens = (tokensPerMinute ?? tokensPerDay ?? tokensPerMonth) !== undefined;
  }

  /** Counts the request towards the requests per minute. Throws the 429. */
  takeRequest(): void {
    const { requestsPerMinute } = this.limits;
    if (requestsPerMinute === undefined || this.taken !== undefined || this.settled) return;
    const { requests } = this.state;
    const now = this.clocks.steadyMs();
    if (requests.used(now) >= requestsPerMinute) {
      const waitMs = requests.waitMs(requestsPerMinute - 1, now);
      throw this.rateLimited(
        'requests',
        waitMs,
        `This key may make ${requestsPerMinute} ${requestsPerMinute === 1 ? 'request' : 'requests'} a minute, and has made them.`,
      );
    }
    this.taken = requests.add(1, now);
  }

  /** Sets tokens aside, instead of what was set aside before. Throws the 429; then the request counts as never made. */
  reserve(promptTokens: number, replyTokens: number): void {
    // A request whose client left is settled already: nobody would give back what it sets aside now.
    if (this.settled || !this.countsTokens) return;
    const { state } = this;
    state.reserved -= this.held;
    this.held = 0;
    const prompt = Math.ceil(promptTokens);
    const reply = Math.ceil(replyTokens);
    const refusal = this.refusalOf(prompt, reply);
    if (refusal) {
      if (this.taken !== undefined) state.requests.takeBack(this.taken, 1);
      this.taken = undefined;
      throw refusal;
    }
    this.held = prompt + reply;
    state.reserved += this.held;
  }

  /** Counts the tokens used and gives back what was set aside; only the first call does. */
  settle(tokens: number): void {
    if (this.settled) return;
    this.settled = true;
    this.state.reserved -= this.held;
    if (this.limits.tokensPerMinute === undefined || tokens === 0) return;
    this.state.tokens.add(tokens, this.clocks.steadyMs());
  }

  /** Adds the headers that tell the limits by the minute and what is left of them: name and value in turn. */
  addHeaders(headers: string[]): void {
    const { requestsPerMinute, tokensPerMinute } = this.limits;
    const { requests, tokens, reserved } = this.state;
    const now = this.clocks.steadyMs();
    if (requestsPerMinute !== undefined) {
      const left = Math.max(0, requestsPerMinute - requests.used(now));
      headers.push(LimitHeader.limitRequests, String(requestsPerMinute));
      headers.push(LimitHeader.remainingRequests, String(left));
      headers.push(LimitHeader.resetRequests, duration(requests.emptyMs(now)));
    }
    if (tokensPerMinute !== undefined) {
      const left = Math.max(0, tokensPerMinute - tokens.used(now) - reserved);
      // What is set aside counts for a minute from when it is used.
      const resetMs = reserved > 0 ? WINDOW_MS : tokens.emptyMs(now);
      headers.push(LimitHeader.limitTokens, String(tokensPerMinute));
      headers.push(LimitHeader.remainingTokens, String(left));
      headers.push(LimitHeader.resetTokens, duration(resetMs));
    }
  }

  /** The same headers by their names. */
  headers(): Record<string, string> {
    const list: string[] = [];
    this.addHeaders(list);
    const headers: Record<string, string> = {};
    for (let at = 0; at < list.length; at += 2) headers[list[at] ?? ''] = list[at + 1] ?? '';
    return headers;
  }

  /** The 429 of a request that may be granted after a wait. */
  private rateLimited(type: string, waitMs: number, state: string): HttpError {
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    return new HttpError(
      429,
      ErrorCode.rateLimited,
      `${state} Wait ${seconds} s (Retry-After) and try again. ${WHO}`,
      { type, headers: { ...this.headers(), 'retry-after': String(seconds) } },
    );
  }

  /** The 429 of a request that cannot be granted, however often it is repeated. */
  private quotaUsedUp(type: string, message: string): HttpError {
    return new HttpError(429, ErrorCode.insufficientQuota, `${message} ${WHO}`, {
      type,
      // Clients repeat every 429 on their own otherwise.
      headers: { ...this.headers(), 'x-should-retry': 'false' },
    });
  }

  /** The refusal of so many tokens, or `undefined`. Asked as "does it fit", so that no odd number slips through. */
  private refusalOf(prompt: number, reply: number): HttpError | undefined {
    const { tokensPerMinute, tokensPerDay, tokensPerMonth } = this.limits;
    const { reserved, spent, tokens } = this.state;
    const need = prompt + reply;
    const needs = () =>
      `this request needs about ${need} (${prompt} for the prompt, up to ${reply} for the answer)`;
    const spentOf = (limit: number, period: string, used: number) =>
      `This key may use ${limit} tokens a ${period}: ${used} were used, ${reserved} are set aside for requests under way, and ${needs()}.`;
    if (tokensPerMinute !== undefined && !(need <= tokensPerMinute)) {
      return this.quotaUsedUp(
        'tokens',
        `This key may use ${tokensPerMinute} tokens a minute, and ${needs()}, so it never fits. Send less, or ask for a shorter answer with max_tokens.`,
      );
    }
    // Asked first: it begins a new day when one has come.
    const unixMs = this.clocks.nowMs();
    for (const [period, limit] of [
      ['day', tokensPerDay],
      ['month', tokensPerMonth],
    ] as const) {
      const used = spent[period];
      if (limit === undefined || used + reserved + need <= limit) continue;
      const told = spentOf(limit, period, used);
      // Tokens set aside are mostly more than are used in the end.
      if (used + need <= limit) return this.rateLimited('tokens', 0, told);
      const anew = new Date(nextStartMs(period, unixMs)).toISOString().slice(0, 16);
      return this.quotaUsedUp(
        ErrorCode.insufficientQuota,
        `${told} The next ${period} begins at ${anew}Z.`,
      );
    }
    if (tokensPerMinute === undefined) return undefined;
    const now = this.clocks.steadyMs();
    const used = tokens.used(now);
    if (used + reserved + need <= tokensPerMinute) return undefined;
    const waitMs = tokens.waitMs(tokensPerMinute - reserved - need, now);
    return this.rateLimited('tokens', waitMs, spentOf(tokensPerMinute, 'minute', used));
  }
}

const WHO = 'Who runs this gateway can change the limit (askwatch keys limit).';

function nextStartMs(period: 'day' | 'month', nowMs: number): number {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, now.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** A time as in `12ms`, `8.64s` and `6m0s`. */
function duration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole - minutes * 60_000) / 1000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
