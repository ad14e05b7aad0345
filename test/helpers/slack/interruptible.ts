import type { Bot } from '../../../src/bot/platform.ts';
import type { Interrupted, Invocation, Reply } from '../../../src/bot/shared/invocation.ts';

/** A bot that a restart interrupts. */
export interface InterruptibleBot {
  bot: Bot;
  /** The newest stored invocation. */
  asked(): Invocation;
  /** The newest invocation as the next start finds it, with what was stored of its answer. */
  interrupted(more?: Partial<Interrupted>): Interrupted;
}

export const NOTE = 'Interrupted: Askwatch was restarted.';

/** Notes what a bot is asked and what its answers begin to show, as its store does. */
export function interruptible(bot: Bot): InterruptibleBot {
  let stored: { invocation: Invocation; atMs: number } | undefined;
  let begun: Pick<Interrupted, 'id' | 'thread' | 'shown'> | undefined;

  function noted(reply: Reply): Reply {
    if (reply.kind !== 'answer') return reply;
    return {
      ...reply,
      async begin(where) {
        begun = { id: reply.id, thread: where.thread, shown: where.shown ?? {} };
        await reply.begin(where);
      },
    };
  }

  function asked() {
    if (!stored) throw new Error('Nothing was asked.');
    return stored.invocation;
  }

  return {
    bot: {
      ...bot,
      async dispatch(invocation, onStored) {
        stored = { invocation: JSON.parse(JSON.stringify(invocation)), atMs: Date.now() };
        begun = undefined;
        return noted(await bot.dispatch(invocation, onStored));
      },
    },
    asked,
    interrupted(more) {
      const { id, place, person, thread, origin } = asked();
      return {
        ...{ id: 'answer', invocation: id, thread, origin },
        ...{ channel: place.channel, person: person.id, private: false },
        ...{ beganAtMs: stored?.atMs ?? 0, note: NOTE },
        ...begun,
        actionsIn: async () => [{ label: 'Try again', command: 'answer again', values: {} }],
        ...more,
      };
    },
  };
}
