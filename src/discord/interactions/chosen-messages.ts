import type { QuotedMessage } from '../../bot/shared/people-messages.ts';

/** Messages that people chose, until they have sent the form about them. */
export type ChosenMessages = ReturnType<typeof createChosenMessages>;

/** The newest are kept; one that was forgotten is read again, as far as Discord lets the bot. */
const MAX_KEPT = 200;

/** In memory only: what is asked about is written down with the question, if it is asked. */
export function createChosenMessages() {
  const kept = new Map<string, QuotedMessage>();
  const keyOf = (person: string, message: string) => `${person} ${message}`;
  return {
    keep(person: string, message: QuotedMessage & { id: string }) {
      kept.delete(keyOf(person, message.id));
      kept.set(keyOf(person, message.id), message);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    },
    of: (person: string, message: string) => kept.get(keyOf(person, message)),
  };
}
