import { isLoopback, isPrivate } from '../checks/address.ts';
import type { CheckResult, Outcome } from '../checks/check-result.ts';

/** Outcomes that a network which is gone gives to every check. */
const NETWORK_FAILURES: ReadonlySet<Outcome> = new Set(['timeout', 'connection', 'name']);

/** An answer of the probe holds for so long. */
const ANSWER_HOLDS_MS = 2_000;

/** Hosts that turn unreachable within this time are taken together. */
const TOGETHER_MS = 10_000;

/** So many hosts, and more than this share of those checked, are no chance. Our choice. */
const MIN_HOSTS = 5;
const SHARE = 0.3;

/**
 * The latest hosts that are remembered for that. No more are needed: where more than the share of any number turned, it did
 * within some stretch of this length, and was found at the last turn of that stretch.
 */
const MAX_LATEST = 256;

/** Hosts remembered as unreachable; the first of them are forgotten first, and taken for reachable again. */
const MAX_UNREACHABLE = 50_000;

export type Verdict = 'count' | 'drop';

/** Recognises that it is our own network that is gone. */
export type Connectivity = ReturnType<typeof createConnectivity>;

/**
 * Notices that many hosts turn unreachable at once. Then their findings wait for `probe`, which says whether our network is
 * there: if it is gone they are dropped, and so is all that fails after them, until the probe or a host that is reached
 * says that it is back. Loopback is no evidence, and counts always.
 *
 * `nowMs` gives Unix milliseconds. `onLost` and `onBack` come once for each loss, both with when it began.
 */
export function createConnectivity(options: {
  probe: () => Promise<boolean>;
  nowMs: () => number;
  onLost: (sinceMs: number) => void;
  onBack: (sinceMs: number) => void;
}) {
  const { probe, nowMs, onLost, onBack } = options;
  /** What was last found of each host, the newest at the end. */
  const latest = new Map<string, { turned: boolean; atMs: number }>();
  const unreachable = new Set<string>();
  let answer: { isThere: Promise<boolean>; atMs?: number } | undefined;
  let doubt: Promise<Verdict> | undefined;
  let reachedCount = 0;
  let lostSinceMs: number | undefined;
  let backMs: number | undefined;

  /** Whether the network is there; one question at a time, and not again while the last answer holds. */
  function isThere(): Promise<boolean> {
    const isOpen = answer && answer.atMs === undefined;
    if (answer && (isOpen || isWithin(nowMs(), answer.atMs, ANSWER_HOLDS_MS)))
      return answer.isThere;
    const asked: NonNullable<typeof answer> = {
      isThere: probe().finally(() => {
        asked.atMs = nowMs();
      }),
    };
    answer = asked;
    return asked.isThere;
  }

  function note(host: string, turned: boolean) {
    latest.delete(host);
    latest.set(host, { turned, atMs: nowMs() });
    forgetFirst(latest, MAX_LATEST);
  }

  function reached(host: string) {
    // A host of our own network is reached without the internet too: it is news only when it was not reached before.
    const isEvidence = unreachable.delete(host) || !isPrivate(host);
    note(host, false);
    if (!isEvidence) return;
    reachedCount += 1;
    if (lostSinceMs !== undefined) back(lostSinceMs);
  }

  async function notReached(host: string, { responseTimeMs }: CheckResult): Promise<Verdict> {
    const isNew = !unreachable.has(host);
    unreachable.add(host);
    forgetFirst(unreachable, MAX_UNREACHABLE);
    if (lostSinceMs !== undefined) {
      // Not waited for: the answer is about checks to come.
      void probeWhetherBack(lostSinceMs);
      return 'drop';
    }
    // It began while the network was lost, and ran out of time after that.
    if (isWithin(nowMs(), backMs, responseTimeMs)) return 'drop';
    if (isNew) note(host, true);
    const sinceMs = doubt ? undefined : manyTurnedSinceMs();
    if (sinceMs !== undefined) doubt = decide(sinceMs);
    return (await doubt) ?? 'count';
  }

  /** When the first of the turns came, if they are too many to be chance. */
  function manyTurnedSinceMs(): number | undefined {
    let hosts = 0;
    let turned = 0;
    let sinceMs: number | undefined;
    // Back from the newest, since any stretch may show it.
    for (const finding of [...latest.values()].reverse()) {
      if (nowMs() - finding.atMs > TOGETHER_MS) break;
      hosts += 1;
      if (!finding.turned) continue;
      turned += 1;
      if (turned >= MIN_HOSTS && turned > SHARE * hosts) sinceMs = finding.atMs;
    }
    return sinceMs;
  }

  async function decide(sinceMs: number): Promise<Verdict> {
    const countBefore = reachedCount;
    const isGone = !(await isThere());
    doubt = undefined;
    latest.clear();
    if (!isGone) return 'count';
    if (reachedCount !== countBefore) {
      // A host that was reached meanwhile speaks against it: the next doubt asks again.
      answer = undefined;
      return 'count';
    }
    lostSinceMs = sinceMs;
    onLost(sinceMs);
    return 'drop';
  }

  async function probeWhetherBack(sinceMs: number) {
    if ((await isThere()) && lostSinceMs === sinceMs) back(sinceMs);
  }

  function back(sinceMs: number) {
    lostSinceMs = undefined;
    backMs = nowMs();
    // What failed meanwhile says nothing: if it fails again soon, that is a turn again.
    unreachable.clear();
    // It is about the loss, also when it is still to come.
    answer = undefined;
    onBack(sinceMs);
  }

  return {
    /**
     * Judges a finding before it counts: `count` it, or `drop` it because it says nothing about its target: then the
     * monitor has `learntNothing`, for a failure that counted just before may have been the same. Waits while the probe is
     * asked, and never with a finding that passed.
     * `host` is what the check went to, a name or a literal; for a DNS check its resolver where one is set.
     */
    async judge(host: string, result: CheckResult): Promise<Verdict> {
      if (result.outcome === 'blocked' || isLoopback(host)) return 'count';
      if (NETWORK_FAILURES.has(result.outcome)) return await notReached(host, result);
      reached(host);
      return 'count';
    },
    get lost() {
      return lostSinceMs !== undefined;
    },
    /** Looks whether a network that was lost is back, where no check does: others may check all there is to check. */
    async askWhetherBack(): Promise<void> {
      if (lostSinceMs !== undefined) await probeWhetherBack(lostSinceMs);
    },
  };
}

/** Whether `sinceMs` is less than `spanMs` ago; a time to come is that of a clock that was set back. */
function isWithin(nowMs: number, sinceMs: number | undefined, spanMs: number): boolean {
  return sinceMs !== undefined && sinceMs <= nowMs && nowMs - sinceMs < spanMs;
}

/** Keeps what was put in last. */
function forgetFirst(kept: Map<string, unknown> | Set<string>, limit: number): void {
  const [first] = kept.keys();
  if (kept.size > limit && first !== undefined) kept.delete(first);
}
