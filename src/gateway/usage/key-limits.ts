import type { KeyLimits } from '../../contracts/key-limits.ts';
import type { KeyInfo } from '../../http/keys.ts';
import { createSlidingWindow, type SlidingWindow } from '../../http/sliding-window.ts';
import type { Spent } from './days.ts';
import {
  budgetRefusal,
  minuteHeaders,
  requestsRefusal,
  tokensRefusal,
  tooLargeRefusal,
} from './key-limit-answers.ts';

/** What one request takes of the limits of its key. */
export interface Allowance {
  readonly countsTokens: boolean;
  /** Counts the request towards the requests per minute. Throws the 429. */
  takeRequest(): void;
  /**
   * Sets tokens aside, instead of what was set aside before. Throws the 429; then the request counts as never made.
   */
  reserve(promptTokens: number, replyTokens: number): void;
  /** Counts the tokens used and gives back what was set aside; only the first call does. */
  settle(tokens: number): void;
  /** Headers that tell the limits by the minute and what is left of them. */
  headers(): Record<string, string>;
}

/** The limits of all keys. */
export interface KeyLimiter {
  /** The allowance of one request; `undefined` when its key has no limits. */
  open(key: KeyInfo): Allowance | undefined;
  /** What a key could use now, of each limit it has. */
  left(key: KeyInfo): KeyLimits;
}

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

/**
 * Holds keys to their limits. Tokens count in the minute, day and month in which their request ended; until then what was set
 * aside for it counts. So neither any 60 seconds nor any day or month holds more than its limit, as long as requests use no
 * more than was set aside for them.
 */
export function createKeyLimiter(options: {
  spentBy: (keyId: string) => Spent;
  /** Unix time, for the sentences that say when a budget begins anew. */
  nowMs: () => number;
  /** A clock that never goes back, milliseconds. */
  steadyMs?: () => number;
}): KeyLimiter {
  const { spentBy, nowMs, steadyMs = () => performance.now() } = options;
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

  function openLimited(key: KeyInfo, limits: KeyLimits): Allowance {
    const state = stateOf(key.id);
    const { requestsPerMinute, tokensPerMinute, tokensPerDay, tokensPerMonth } = limits;
    const countsTokens = (tokensPerMinute ?? tokensPerDay ?? tokensPerMonth) !== undefined;
    let taken: number | undefined;
    let held = 0;
    let settled = false;

    function headers() {
      const now = steadyMs();
      const { requests, tokens, reserved } = state;
      return minuteHeaders(
        requestsPerMinute === undefined
          ? undefined
          : {
              limit: requestsPerMinute,
              used: requests.used(now),
              resetMs: requests.emptyMs(now),
            },
        tokensPerMinute === undefined
          ? undefined
          : {
              limit: tokensPerMinute,
              used: tokens.used(now) + reserved,
              // What is set aside counts for a minute from when it is used.
              resetMs: reserved > 0 ? WINDOW_MS : tokens.emptyMs(now),
            },
      );
    }

    /** The refusal of so many tokens, or `undefined`. Asked as "does it fit", so that no odd number slips through. */
    function refusalOf(prompt: number, reply: number) {
      const { reserved } = state;
      const need = prompt + reply;
      const asked = { prompt, reply, reserved };
      if (tokensPerMinute !== undefined && !(need <= tokensPerMinute)) {
        return tooLargeRefusal(tokensPerMinute, asked, headers());
      }
      // Asked first: it begins a new day when one has come.
      const unixMs = nowMs();
      const { day, month } = state.spent;
      if (tokensPerDay !== undefined && !(day + reserved + need <= tokensPerDay)) {
        const budget = { period: 'day' as const, limit: tokensPerDay, used: day };
        return budgetRefusal({ ...budget, nowMs: unixMs }, asked, headers());
      }
      if (tokensPerMonth !== undefined && !(month + reserved + need <= tokensPerMonth)) {
        const budget = { period: 'month' as const, limit: tokensPerMonth, used: month };
        return budgetRefusal({ ...budget, nowMs: unixMs }, asked, headers());
      }
      if (tokensPerMinute === undefined) return undefined;
      const now = steadyMs();
      const used = state.tokens.used(now);
      if (used + reserved + need <= tokensPerMinute) return undefined;
      const waitMs = state.tokens.waitMs(tokensPerMinute - reserved - need, now);
      return tokensRefusal({ limit: tokensPerMinute, used, waitMs }, asked, headers());
    }

    return {
      countsTokens,
      takeRequest() {
        if (requestsPerMinute === undefined || taken !== undefined || settled) return;
        const now = steadyMs();
        if (state.requests.used(now) >= requestsPerMinute) {
          const waitMs = state.requests.waitMs(requestsPerMinute - 1, now);
          throw requestsRefusal({ limit: requestsPerMinute, waitMs }, headers());
        }
        taken = state.requests.add(1, now);
      },
      reserve(promptTokens, replyTokens) {
        // A request whose caller left is settled already: nobody would give back what it sets aside now.
        if (settled || !countsTokens) return;
        state.reserved -= held;
        held = 0;
        const prompt = Math.ceil(promptTokens);
        const reply = Math.ceil(replyTokens);
        const refusal = refusalOf(prompt, reply);
        if (refusal) {
          if (taken !== undefined) state.requests.takeBack(taken, 1);
          taken = undefined;
          throw refusal;
        }
        held = prompt + reply;
        state.reserved += held;
      },
      settle(tokens) {
        if (settled) return;
        settled = true;
        state.reserved -= held;
        if (tokensPerMinute !== undefined && tokens > 0) state.tokens.add(tokens, steadyMs());
      },
      headers,
    };
  }

  return {
    open(key) {
      return key.limits && openLimited(key, key.limits);
    },
    left(key) {
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
