import { isLoopback, isPrivate } from '../../http/address.ts';
import type { CheckResult, Outcome } from '../checks/check-result.ts';

/** Outcomes that every check has while the network is down. */
const NETWORK_FAILURES: ReadonlySet<Outcome> = new Set(['timeout', 'connection', 'name']);

const PROBE_HOLDS_MS = 2_000;

/** Hosts that become unreachable within this time count together. */
const TOGETHER_MS = 10_000;

/** More hosts than these, and a larger share of the checked ones, can't be chance. Our choice. */
const MIN_HOSTS = 5;
const MIN_SHARE = 0.3;

/**
 * Latest hosts to compare. More are not needed: where more than the share of any number turned, more turned within some stretch of
 * this length, and that was noticed at the last turn of the stretch.
 */
const MAX_LATEST = 256;

/** Hosts remembered as unreachable; the oldest are forgotten first, and count as reachable again. */
const MAX_UNREACHABLE = 50_000;

export type Verdict = 'count' | 'drop';

interface ConnectivityOptions {
  probe: () => Promise<boolean>;
  nowMs: () => number;
  /** Called once for each loss, with its begin. */
  onLost: (sinceMs: number) => void;
  onBack: (sinceMs: number) => void;
}

/**
 * Recognises that our own network is down, which says nothing about the targets.
 *
 * - up → doubt: at least `MIN_HOSTS` hosts become unreachable together. Their results wait for the probe.
 * - doubt → up: the probe answers, or a host was reached in the meantime. The results count.
 * - doubt → lost: the probe fails. The results are dropped, and all network failures after them.
 * - lost → up: the probe answers, or a host of the internet is reached.
 *
 * Loopback is no evidence, and always counts.
 */
export class Connectivity {
  private readonly options: ConnectivityOptions;
  /** The last result of each host, newest at the end; `turned` if the host had been reachable before. */
  private readonly latest = new Map<string, { turned: boolean; atMs: number }>();
  private readonly unreachable = new Set<string>();
  private lastProbe: { isUp: Promise<boolean>; endedMs?: number } | undefined;
  private doubt: Promise<Verdict> | undefined;
  private reachedCount = 0;
  private lostSinceMs: number | undefined;
  private backMs: number | undefined;

  constructor(options: ConnectivityOptions) {
    this.options = options;
  }

  get lost(): boolean {
    return this.lostSinceMs !== undefined;
  }

  /**
   * Judges a result before it counts. `drop`: it says nothing about its target, nor does an unconfirmed failure before it. Waits for
   * the probe, except if the check passed. `host` is a name or a literal; a DNS check's host is its resolver if one is set.
   */
  async judge(host: string, result: CheckResult): Promise<Verdict> {
    if (result.outcome === 'blocked' || isLoopback(host)) return 'count';
    if (NETWORK_FAILURES.has(result.outcome)) return await this.judgeFailure(host, result);
    this.noteReached(host);
    return 'count';
  }

  /** Probes a lost network; needed if other processes run all checks. */
  async askWhetherBack(): Promise<void> {
    const sinceMs = this.lostSinceMs;
    if (sinceMs !== undefined && (await this.isUp()) && this.lostSinceMs === sinceMs) {
      this.setBack(sinceMs);
    }
  }

  private noteReached(host: string): void {
    // A host of our own network is reachable without the internet too, so it is evidence only after a failure.
    const isEvidence = this.unreachable.delete(host) || !isPrivate(host);
    this.note(host, false);
    if (!isEvidence) return;
    this.reachedCount += 1;
    if (this.lostSinceMs !== undefined) this.setBack(this.lostSinceMs);
  }

  private async judgeFailure(host: string, { responseTimeMs }: CheckResult): Promise<Verdict> {
    const isNew = !this.unreachable.has(host);
    this.unreachable.add(host);
    forgetFirst(this.unreachable, MAX_UNREACHABLE);
    if (this.lost) {
      // Not awaited, because the answer is for later checks.
      void this.askWhetherBack();
      return 'drop';
    }
    // The check began while the network was down, and ran out of time after that.
    if (isWithin(this.options.nowMs(), this.backMs, responseTimeMs)) return 'drop';
    if (isNew) this.note(host, true);
    const sinceMs = this.doubt ? undefined : this.manyTurnedSinceMs();
    if (sinceMs !== undefined) this.doubt = this.decide(sinceMs);
    return (await this.doubt) ?? 'count';
  }

  private note(host: string, turned: boolean): void {
    this.latest.delete(host);
    this.latest.set(host, { turned, atMs: this.options.nowMs() });
    forgetFirst(this.latest, MAX_LATEST);
  }

  /** Time of the first turn, if the turns are too many to be chance. */
  private manyTurnedSinceMs(): number | undefined {
    const nowMs = this.options.nowMs();
    let hosts = 0;
    let turned = 0;
    let sinceMs: number | undefined;
    // Backwards from the newest, since any stretch may show it.
    for (const result of [...this.latest.values()].reverse()) {
      if (nowMs - result.atMs > TOGETHER_MS) break;
      hosts += 1;
      if (!result.turned) continue;
      turned += 1;
      if (turned >= MIN_HOSTS && turned > MIN_SHARE * hosts) sinceMs = result.atMs;
    }
    return sinceMs;
  }

  private async decide(sinceMs: number): Promise<Verdict> {
    const countBefore = this.reachedCount;
    const isUp = await this.isUp();
    this.doubt = undefined;
    this.latest.clear();
    if (isUp) return 'count';
    if (this.reachedCount !== countBefore) {
      // A host was reached in the meantime: the next doubt probes again.
      this.lastProbe = undefined;
      return 'count';
    }
    this.lostSinceMs = sinceMs;
    this.options.onLost(sinceMs);
    return 'drop';
  }

  /** One probe at a time; its answer holds for a moment. */
  private isUp(): Promise<boolean> {
    const { probe, nowMs } = this.options;
    const last = this.lastProbe;
    const isOpen = last !== undefined && last.endedMs === undefined;
    if (last && (isOpen || isWithin(nowMs(), last.endedMs, PROBE_HOLDS_MS))) return last.isUp;
    const current: NonNullable<typeof last> = {
      isUp: probe().finally(() => {
        current.endedMs = nowMs();
      }),
    };
    this.lastProbe = current;
    return current.isUp;
  }

  private setBack(sinceMs: number): void {
    this.lostSinceMs = undefined;
    this.backMs = this.options.nowMs();
    // Failures during the loss say nothing: if a host fails again soon, that is a new turn.
    this.unreachable.clear();
    // A pending probe is about the loss.
    this.lastProbe = undefined;
    this.options.onBack(sinceMs);
  }
}

/** `sinceMs` is less than `spanMs` ago. A time in the future comes from a clock that was set back. */
function isWithin(nowMs: number, sinceMs: number | undefined, spanMs: number): boolean {
  return sinceMs !== undefined && sinceMs <= nowMs && nowMs - sinceMs < spanMs;
}

function forgetFirst(collection: Map<string, unknown> | Set<string>, limit: number): void {
  const [first] = collection.keys();
  if (collection.size > limit && first !== undefined) collection.delete(first);
}
