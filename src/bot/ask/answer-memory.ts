import type { Logger } from 'pino';
import { CommandError } from '../shared/errors.ts';
import type { AnswerRun } from './answer-run.ts';
import type { Conversations, Turn } from './conversations.ts';
import type { Question } from './question.ts';
import type { UsageLog } from './usage-log.ts';

/** An answer, and what it answers. */
interface Answered {
  id: string;
  asked: Question;
}

/** What is kept of answers: in their thread, and in the usageLog of who asked how much. */
export interface AnswerMemory {
  /** What the thread remembers of what was said before, which ends at the answer that is to be replaced. */
  turns(key: string, instead: string | undefined): Promise<Turn[]>;
  /** Keeps a whole answer. Throws a `CommandError` that says what it means when it cannot be. */
  keep(key: string, answered: Answered & { answer: string }): Promise<void>;
  /** Keeps a question whose answer is not whole; whether a button can ask it again. */
  keepUnanswered(key: string, answered: Answered): Promise<boolean>;
  /** Counts an answer, whole or not. Never throws. */
  count(asked: Question, run: AnswerRun): Promise<void>;
}

export function createAnswerMemory(options: {
  conversations: Conversations;
  usageLog: UsageLog;
  log: Logger;
}): AnswerMemory {
  const { conversations, usageLog, log } = options;
  const questionOf = ({ question, model }: Question) => ({
    question,
    ...(model !== undefined && { model }),
  });
  return {
    async turns(key, instead) {
      const turns = await conversations.turns(key);
      const at = instead === undefined ? -1 : turns.findIndex(({ id }) => id === instead);
      return at === -1 ? turns : turns.slice(0, at);
    },
    async keep(key, { id, asked, answer }) {
      try {
        const turn = { id, ...questionOf(asked), answer, atMs: Date.now() };
        await conversations.add(key, turn, asked.instead);
      } catch (error) {
        log.error({ err: error }, 'an answer could not be stored');
        throw new CommandError(
          'This answer could not be saved, so this thread will not remember it. Whoever runs Askwatch can look at the log and the disk.',
        );
      }
    },
    async keepUnanswered(key, { id, asked }) {
      try {
        const { instead } = asked;
        const more = instead === undefined ? {} : { instead };
        await conversations.addUnanswered(key, { id, ...questionOf(asked), ...more });
        return true;
      } catch (error) {
        log.error({ err: error }, 'a question could not be stored');
        return false;
      }
    },
    async count({ place, person: { id, name } }, { model, tokens }) {
      if (model === undefined) return;
      const used = tokens === undefined ? {} : { tokens };
      try {
        await usageLog.add({ atMs: Date.now(), place, person: id, name, model, ...used });
      } catch (error) {
        log.error({ err: error }, 'who asked could not be noted');
      }
    },
  };
}
