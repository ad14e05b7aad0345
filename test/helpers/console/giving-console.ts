import { onTestFinished } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { AnswerPart } from '../../../src/bot/shared/invocation.ts';
import { startTestConsole } from './test-console.ts';

/** A console whose answers consist of the parts passed to `give`. */
export async function startGiving() {
  const given: AnswerPart[] = [];
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
      return reply.kind === 'answer' ? { ...reply, stream } : reply;
    },
  });
  function give(...parts: AnswerPart[]) {
    given.push(...parts);
    wake();
  }

  const running = await startTestConsole({ wrapBot });
  // Otherwise a stop would wait for the answer.
  onTestFinished(() => give({ kind: 'end', footer: '' }));
  return { ...running, give };
}
