import type { Bot } from '../../../src/bot/platform.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { AnswerDocument, Reply } from '../../../src/bot/shared/invocation.ts';

/** A bot whose answers have these cards below their end, and this document. `onEnded` is called when a platform says that one is shown. */
export function withCards(
  bot: Bot,
  { cards, document, onEnded }: { cards: Card[]; document?: AnswerDocument; onEnded?: () => void },
): Bot {
  function changed(reply: Reply): Reply {
    if (reply.kind !== 'answer') return reply;
    return {
      ...reply,
      async *stream(thread, signal) {
        for await (const part of reply.stream(thread, signal)) {
          yield part.kind === 'end' ? { ...part, cards, ...(document && { document }) } : part;
        }
      },
      async ended() {
        onEnded?.();
        await reply.ended();
      },
    };
  }

  return {
    ...bot,
    dispatch: async (invocation, onStored) => changed(await bot.dispatch(invocation, onStored)),
  };
}
