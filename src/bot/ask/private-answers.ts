/** An answer that one person saw. */
export interface PrivateAnswer {
  person: string;
  question: string;
  model: string | undefined;
  text: string;
  footer: string;
}

/** Longer nobody means it any more; what was private is not written anywhere. */
const KEEP_MS = 60 * 60_000;
const MAX_KEPT = 200;

/** The last private answers, in memory, for those who want to share theirs. */
export function createPrivateAnswers() {
  const nowMs = () => performance.now();
  const kept = new Map<string, PrivateAnswer & { atMs: number }>();
  return {
    keep(id: string, answer: PrivateAnswer) {
      kept.set(id, { ...answer, atMs: nowMs() });
      for (const [old, { atMs }] of kept) {
        if (kept.size <= MAX_KEPT && nowMs() - atMs <= KEEP_MS) break;
        kept.delete(old);
      }
    },
    /** One, for whom it was shown to. */
    of(id: string, person: string): PrivateAnswer | undefined {
      const answer = kept.get(id);
      const isTheirs = answer?.person === person && nowMs() - answer.atMs <= KEEP_MS;
      return isTheirs ? answer : undefined;
    },
    /** Whether it was kept until now. */
    forget: (id: string) => kept.delete(id),
  };
}
