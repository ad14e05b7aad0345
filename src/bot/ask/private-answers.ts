import { z } from 'zod';
import type { KeptQuestion, Turn } from './conversations.ts';

/** One tool call of an answer. */
export const AnswerCall = z.object({
  tool: z.string(),
  /** JSON, unless a model wrote something else. */
  input: z.string(),
  result: z.string(),
});
export type AnswerCall = z.infer<typeof AnswerCall>;

/** Model, times and tool calls of a whole answer, for its ratings. */
export interface AnswerOrigin {
  generated: NonNullable<Turn['generated']>;
  calls: readonly AnswerCall[];
}

/** An answer that only one person has seen. */
export interface PrivateAnswer extends AnswerOrigin {
  person: string;
  asked: KeptQuestion;
  text: string;
  footer: string;
}

const KEEP_MS = 60 * 60_000;
const MAX_KEPT = 200;

/** The last private answers, so that their readers can share or rate them. In memory only: private text is never stored. */
export class PrivateAnswers {
  private readonly answers = new Map<string, PrivateAnswer & { atMs: number }>();

  keep(id: string, answer: PrivateAnswer): void {
    this.answers.set(id, { ...answer, atMs: performance.now() });
    for (const [oldest, { atMs }] of this.answers) {
      if (this.answers.size <= MAX_KEPT && performance.now() - atMs <= KEEP_MS) break;
      this.answers.delete(oldest);
    }
  }

  /** The answer, if it was shown to this person. */
  get(id: string, person: string): PrivateAnswer | undefined {
    const answer = this.answers.get(id);
    const isTheirs = answer?.person === person && performance.now() - answer.atMs <= KEEP_MS;
    return isTheirs ? answer : undefined;
  }

  /** Removes an answer; false if it was removed before. */
  take(id: string): boolean {
    return this.answers.delete(id);
  }
}
