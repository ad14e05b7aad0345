import type { Bot } from '../../../src/bot/platform.ts';
import type { Invocation, Reply, ShownAnswer } from '../../../src/bot/shared/invocation.ts';

/** A process of the bot as others see it: what it stored of what it was asked, and of what it shows. */
export interface LeavingBot {
  bot: Bot;
  /** What it was asked last, as it is stored: of the person only who it is. */
  asked(): Invocation;
  /** Its answer, as it noted it. */
  answer(): ShownAnswer & { id: string };
  /** From now on others go on with what it does. */
  die(): void;
}

/** Notes what a bot is asked, as the store of several processes does, and lets it lose all of it to another process. */
export function leaving(bot: Bot): LeavingBot {
  let isDead = false;
  let stored: string | undefined;
  let answer: (ShownAnswer & { id: string }) | undefined;

  function noted(reply: Reply): Reply {
    if (reply.kind !== 'answer') return reply;
    return {
      ...reply,
      isOurs: () => !isDead && reply.isOurs(),
      async begin(where) {
        if (isDead) return;
        const { thread, shown = {} } = where;
        answer = { id: reply.id, beganAtMs: answer?.beganAtMs ?? Date.now(), thread, shown };
        await reply.begin(where);
      },
    };
  }

  return {
    bot: {
      ...bot,
      async dispatch(invocation, onStored) {
        const { id, name } = invocation.person;
        stored = JSON.stringify({ ...invocation, person: { id, name } });
        return noted(await bot.dispatch(invocation, onStored));
      },
    },
    asked: () => JSON.parse(stored ?? 'null') as Invocation,
    answer() {
      if (!answer) throw new Error('Nothing was answered.');
      return answer;
    },
    die() {
      isDead = true;
    },
  };
}
