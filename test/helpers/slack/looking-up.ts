import type { Bot } from '../../../src/bot/platform.ts';
import type { AnswerStep, Reply } from '../../../src/bot/shared/invocation.ts';

/** A bot whose answers look things up before the model says something. */
export interface LookingUp {
  bot: Bot;
  /** The current step of every answer. */
  look(step: AnswerStep): void;
  /** From now on the model says what it has to say. */
  goOn(): void;
}

export function lookingUp(bot: Bot): LookingUp {
  const steps: AnswerStep[] = [];
  let goesOn = false;
  const waiting: Array<() => void> = [];

  function wakeAll() {
    for (const wake of waiting.splice(0)) wake();
  }

  function withSteps(reply: Reply): Reply {
    if (reply.kind !== 'answer') return reply;
    return {
      ...reply,
      async *stream(thread, signal) {
        for (let read = 0; ; ) {
          const step = steps[read];
          if (step) {
            read += 1;
            yield { kind: 'step', step };
          } else if (goesOn) break;
          else await new Promise<void>((wake) => waiting.push(wake));
        }
        yield* reply.stream(thread, signal);
      },
    };
  }

  return {
    bot: {
      ...bot,
      dispatch: async (invocation, onStored) => withSteps(await bot.dispatch(invocation, onStored)),
    },
    look(step) {
      steps.push(step);
      wakeAll();
    },
    goOn() {
      goesOn = true;
      wakeAll();
    },
  };
}
