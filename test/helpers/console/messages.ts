import type { Card } from '../../../src/bot/shared/card.ts';
import type { AnswerBody, Message } from '../../../src/console/shared/api-types.ts';
import { eventually } from '../eventually.ts';
import { repliesOf, type Tab } from './test-console.ts';

/** Throws if the message isn't a card. */
export function cardOf(message: Message | undefined): Card {
  if (message?.body.kind !== 'card') throw new Error('There is no card.');
  return message.body.card;
}

/** Throws if the message isn't an answer. */
export function answerOf(message: Message | undefined): AnswerBody {
  if (message?.body.kind !== 'answer') throw new Error('There is no answer.');
  return message.body;
}

/** The title of a card, or the kind of another message. */
export const titleOf = ({ body }: Message) => (body.kind === 'card' ? body.card.title : body.kind);

/** Labels of the buttons under a card or an answer. */
export function labelsOf(message: Message | undefined): string[] {
  const holder = message?.body.kind === 'card' ? cardOf(message) : answerOf(message);
  return (holder.actions ?? []).map(({ label }) => label);
}

/** Every version of every reply that a tab received. */
export const receivedReplies = ({ heard }: Tab): Message[] =>
  heard.flatMap((event) => (event.kind === 'reply' ? [event.reply] : []));

/** The newest version of each private message that a tab received. */
export function privateMessages({ heard }: Tab): Message[] {
  const messages = heard.flatMap((event) => {
    if (event.kind === 'reply') return [event.reply];
    return event.kind === 'message' ? [event.listed.message] : [];
  });
  const newest = new Map(messages.filter((one) => one.private).map((one) => [one.id, one]));
  return [...newest.values()];
}

/** Asks in the channel; resolves to the thread. */
export async function ask(tab: Tab, line = '/ask why?'): Promise<string> {
  const outcome = await tab.say(line);
  if (outcome.shown !== 'thread') throw new Error('There is no thread.');
  return outcome.message;
}

/** Waits until a thread has so many replies and the last one is a whole answer. */
export function wholeAnswer(url: string, root: string, replies = 1): Promise<Message> {
  return eventually(
    async () => {
      const all = await repliesOf(url, root);
      const last = all.at(-1);
      return all.length === replies && last?.body.kind === 'answer' && !last.body.growing && last;
    },
    { what: `a whole answer as reply ${replies}` },
  );
}
