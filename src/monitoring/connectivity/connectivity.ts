import { isLoopback, isPrivate } from '../checks/address.ts';
import type { CheckResult, Outcome } from '../checks/check-result.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { createFailureBurst } from './failure-burst.ts';

/** Outcomes that a network which is gone gives to every check. */
const NETWORK_FAILURES: ReadonlySet<Outcome> = new Set(['timeout', 'connection', 'name']);

/** A probe that has not answered by then cannot tell. */
const PROBE_MS = 4_000;

/** An answer of the probe holds for so long; while the network is lost nothing is probed sooner. */
const ANSWER_HOLDS_MS = 2_000;

/** Hosts remembered as unreachable; the first of them are forgotten first, and taken for reachable again. */
const MAX_UNREACHABLE = 50_000;

export type Verdict = 'count' | 'drop';

/** Recognises that it is our own network that is gone. */
export interface Connectivity {
  /**
   * Judges a finding before it counts: `count` it, or `drop` it because it says nothing about its target: then the
   * monitor has `learntNothing`, for a failure that counted just before may have been the same. Waits while the network
   * is in doubt, less than 5 s, and never with a finding that passed.
   * `host` is what the check went to, a name or a literal; for a DNS check its resolver where one is set.
   */
  judge(host: string, result: CheckResult): Promise<Verdict>;
  readonly lost: boolean;
}

/** Findings wait for the answer to it. */
interface Doubt {
  verdict: Promise<Verdict>;
  end(verdict: Verdict): void;
}

/**
 * Watches how many hosts turn unreachable at once. When they are many, their findings wait for `probe()`, which says
 * whether our network is there: if it is gone they are dropped, and so is all that fails after them, until the probe or
 * a host that is reached says that it is back. Loopback is no evidence, and counts always.
 *
 * A good probe connects to what stays when any target goes, and goes when our network does: the system's resolver and
 * gateway, or a few well-known anchors. It resolves within 4 s; if not, or if it rejects, it cannot tell, and what
 * waited counts. `createProbe` makes one.
 *
 * `nowMs` gives Unix milliseconds. `onLost` and `onBack` come once for each loss, both with when it began.
 */
export function createConnectivity(options: {
  probe: () => Promise<boolean>;
  nowMs: () => number;
  onLost: (sinceMs: number) => void;
  onBack: (sinceMs: number) => void;
  after?: Clock['after'];
}): Connectivity {
  const { probe, nowMs, onLost, onBack, after = systemClock.after } = options;
  const burst = createFailureBurst();
  const unreachable = new Set<string>();
  let doubt: Doubt | undefined;
  let lostSinceMs: number | undefined;
  let backMs: number | undefined;
  let probing: Promise<boolean | undefined> | undefined;
  let answer: { isThere: boolean | undefined; atMs: number } | undefined;

  /** Whether the network is there; one question at a time, and `undefined` when the probe cannot tell. */
  function probeOnce(): Promise<boolean | undefined> {
    if (probing) return probing;
    const question = withinMs(probe, PROBE_MS, after).then((isThere) => {
      if (probing === question) {
        probing = undefined;
        answer = { isThere, atMs: nowMs() };
      }
      return isThere;
    });
    probing = question;
    return question;
  }

  function reached(host: string) {
    // A host of our own network is reached without the internet too: it is news only when it was not reached before.
    const isEvidence = unreachable.delete(host) || !isPrivate(host);
    burst.add(host, { turned: false, atMs: nowMs() });
    if (!isEvidence) return;
    endDoubt('count');
    if (lostSinceMs !== undefined) back(lostSinceMs);
  }

  function notReached(host: string, { responseTimeMs }: CheckResult): Verdict | Promise<Verdict> {
    const atMs = nowMs();
    if (lostSinceMs !== undefined) {
      remember(host);
      // Not waited for: the answer is about checks to come.
      if (!isWithin(atMs, answer?.atMs, ANSWER_HOLDS_MS)) void probeWhetherBack(lostSinceMs);
      return 'drop';
    }
    // It began while the network was lost, and ran out of time after that.
    if (isWithin(atMs, backMs, responseTimeMs)) return 'drop';
    if (remember(host)) burst.add(host, { turned: true, atMs });
    if (doubt) return doubt.verdict;
    // After a "gone" that a reached host spoke against, the next doubt probes again.
    if (answer?.isThere !== false && isWithin(atMs, answer?.atMs, ANSWER_HOLDS_MS)) return 'count';
    const manySinceMs = burst.burstSinceMs(atMs);
    return manySinceMs === undefined ? 'count' : beginDoubt(manySinceMs).verdict;
  }

  /** Whether it was reachable before. */
  function remember(host: string): boolean {
    if (unreachable.has(host)) return false;
    unreachable.add(host);
    const [first] = unreachable;
    if (unreachable.size > MAX_UNREACHABLE && first !== undefined) unreachable.delete(first);
    return true;
  }

  function beginDoubt(sinceMs: number): Doubt {
    const begun = createDoubt();
    doubt = begun;
    // Findings wait for the doubt, not for this; it cannot fail.
    void probeOnce().then((isThere) => {
      if (doubt !== begun) return;
      if (isThere === false) lose(sinceMs);
      else endDoubt('count');
    });
    return begun;
  }

  function endDoubt(verdict: Verdict) {
    if (!doubt) return;
    burst.clear();
    doubt.end(verdict);
    doubt = undefined;
  }

  function lose(sinceMs: number) {
    lostSinceMs = sinceMs;
    endDoubt('drop');
    onLost(sinceMs);
  }

  async function probeWhetherBack(sinceMs: number) {
    if ((await probeOnce()) && lostSinceMs === sinceMs) back(sinceMs);
  }

  function back(sinceMs: number) {
    lostSinceMs = undefined;
    backMs = nowMs();
    // What failed meanwhile says nothing: if it fails again soon, that is a turn again.
    unreachable.clear();
    // An answer still to come is about the loss.
    probing = undefined;
    onBack(sinceMs);
  }

  return {
    async judge(host, result) {
      if (result.outcome === 'blocked' || isLoopback(host)) return 'count';
      if (NETWORK_FAILURES.has(result.outcome)) return await notReached(host, result);
      reached(host);
      return 'count';
    },
    get lost() {
      return lostSinceMs !== undefined;
    },
  };
}

function createDoubt(): Doubt {
  let end: (verdict: Verdict) => void = () => {};
  const verdict = new Promise<Verdict>((resolve) => {
    end = resolve;
  });
  return { verdict, end };
}

/** Whether `sinceMs` is less than `spanMs` ago; a time to come is that of a clock that was set back. */
function isWithin(nowMs: number, sinceMs: number | undefined, spanMs: number): boolean {
  return sinceMs !== undefined && sinceMs <= nowMs && nowMs - sinceMs < spanMs;
}

/** What the probe says; `undefined` when it rejects or has said nothing by then. */
async function withinMs(
  probe: () => Promise<boolean>,
  limitMs: number,
  after: Clock['after'],
): Promise<boolean | undefined> {
  let cancel = () => {};
  const silence = new Promise<undefined>((resolve) => {
    cancel = after(limitMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([probe(), silence]);
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}
