import { onTestFinished } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Answer, AnswerPart } from '../../../src/bot/shared/invocation.ts';
import { startTestConsole } from './test-console.ts';

/** A console whose answers consist of the parts passed to `give`. `hooks.onEnded` is called at the end of each answer. */
export async function startGiving() {
  const given: AnswerPart[] = [];
  const hooks = { onEnded: async () => {} };
  let wake = () => {};

  async function* stream(): AsyncGenerator<AnswerPart> {
    for (;;) {
      const part = given.shift();
      if (part) yield part;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (part?.kind === 'end') return;
    }
  }

  const wrapBot = (bot: Bot): Bot => ({
    ...bot,
    async dispatch(...args) {
      const reply = await bot.dispatch(...args);
      if (reply.kind !== 'answer') return reply;
      async function ended() {
        await hooks.onEnded();
        await (reply as Answer).ended();
      }
      return { ...reply, stream, ended };
    },
  });
  function give(...parts: AnswerPart[]) {
    given.push(...parts);
    wake();
  }

  const running = await startTestConsole({ wrapBot });
  // Otherwise a stop would wait for the answer.
  onTestFinished(() => give({ kind: 'end', footer: '' }));
  return { ...running, hooks, give };
}
