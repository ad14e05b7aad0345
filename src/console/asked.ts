import { isDeepStrictEqual } from 'node:util';
import type { Invocation, Person } from '../bot/platform.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { decodeAction } from './button-text.ts';
import type { History } from './history.ts';
import type { Message, Press, RootMessage, Saying } from './wire.ts';

/** What the bot is asked by a gesture, and how what comes of it is shown. */
export interface Asked {
  request: Invocation['request'];
  person: Person;
  /** The thread that shows it; the channel does without one. */
  thread: string | undefined;
  /** What stands over a card as what it came from. */
  command: string | undefined;
}

/** Whoever presses is named in every place that was told; “You” would be somebody else there. */
const PRESSER_NAME = 'someone at the web console';

/** What the bot is asked. Throws `HttpError` when the message or the thread is gone, or the button is none. */
export function askedBy(gesture: Saying | Press, person: Person, history: History): Asked {
  return 'text' in gesture
    ? askedBySaying(gesture, person, history)
    : askedByPress(gesture, person, history);
}

/** Words without a slash are a question. */
function askedBySaying({ thread, text }: Saying, person: Person, history: History): Asked {
  if (thread !== undefined && !history.get(thread)) throw threadGone();
  const request = text.startsWith('/')
    ? { line: text }
    : { command: 'ask', values: { question: text } };
  return { request, person, thread, command: text };
}

/**
 * The card may have changed since the page showed the button, so what it carries is not looked up in it: the bot checks
 * what can still be done. What comes of it is shown in the thread of the message.
 */
function askedByPress(press: Press, person: Person, history: History): Asked {
  const { channel, message: id, thread = id, action } = press;
  const root = history.get(thread);
  const message = root?.channel === channel ? messageOf(root, id) : undefined;
  if (!message) throw notFound('This message is gone: it made room for newer ones.');
  const request = decodeAction(action);
  if (!request) throw new HttpError(400, 'invalid_value', 'There is no such button.');
  return {
    request,
    person: { ...person, name: PRESSER_NAME },
    thread,
    command: labelOf(message, request),
  };
}

function messageOf({ message, replies }: RootMessage, id: string): Message | undefined {
  return [message, ...replies].find((one) => one.id === id);
}

type Pressed = Exclude<ReturnType<typeof decodeAction>, undefined>;

/** What stands on the button; `undefined` when the card no longer has it. */
function labelOf({ body }: Message, pressed: Pressed): string | undefined {
  if (body.kind !== 'card') return undefined;
  return body.card.actions?.find(({ command, values }) =>
    isDeepStrictEqual({ command, values }, pressed),
  )?.label;
}

export const threadGone = () => notFound('This thread is gone: it made room for newer messages.');
