/** Turns within this time are taken together. */
const TOGETHER_MS = 10_000;

/** So many hosts, and more than this share of those checked. Our choice. */
const MIN_HOSTS = 5;
const SHARE = 0.3;

/**
 * The latest findings that are remembered. No more are needed: where more than the share of any number turned, it did
 * within some stretch of this length, and was seen at the last turn of that stretch.
 */
const MAX_FINDINGS = 256;

/** Remembers which hosts lately turned from reached to unreachable, and which were reached. */
export interface FailureBurst {
  add(host: string, finding: { turned: boolean; atMs: number }): void;
  /** When the first of the turns came, if the latest findings are too many turns to be chance. */
  burstSinceMs(nowMs: number): number | undefined;
  clear(): void;
}

export function createFailureBurst(): FailureBurst {
  const findings: Array<{ host: string; turned: boolean; atMs: number }> = [];
  return {
    add(host, finding) {
      findings.push({ host, ...finding });
      if (findings.length > MAX_FINDINGS) findings.shift();
    },
    burstSinceMs(nowMs) {
      const seen = new Set<string>();
      let turned = 0;
      let sinceMs: number | undefined;
      // Back from the newest: of a host only its last finding counts, and any stretch may show the turn.
      for (const finding of findings.toReversed()) {
        if (nowMs - finding.atMs > TOGETHER_MS) break;
        if (seen.has(finding.host)) continue;
        seen.add(finding.host);
        if (!finding.turned) continue;
        turned += 1;
        if (turned >= MIN_HOSTS && turned > SHARE * seen.size) sinceMs = finding.atMs;
      }
      return sinceMs;
    },
    clear() {
      findings.length = 0;
    },
  };
}
