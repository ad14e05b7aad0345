import { isDeepStrictEqual } from 'node:util';
import type { Invocation } from '../../bot/shared/invocation.ts';
import type { Person } from '../../bot/shared/place.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type {
  Gesture,
  Message,
  Press,
  RootMessage,
  Saying,
  SentForm,
} from '../shared/api-types.ts';
import { decodeAction } from '../shared/button-text.ts';
import { type Answers, threadGone } from './answers.ts';
import type { History } from './history.ts';

/** What the bot is asked by a gesture, and how what comes of it is shown. */
export interface Asked {
  request: Invocation['request'];
  person: Person;
  /** The thread that shows it; the channel does without one. */
  thread: string | undefined;
  /** What stands over a card as what it came from. */
  command: string | undefined;
  /** The message whose button was pressed, and whether one person alone has it. */
  pressed?: { message: string; private: boolean };
}

/** Whoever presses is named in every place that was told, and the others know nobody of the console. */
const presserName = (name: string) => `${name} at the web console`;

/** What people see: an answer that has just ended is ahead of what is stored. */
interface Shown {
  history: History;
  answers: Pick<Answers, 'latest'>;
}

/** What the bot is asked. Throws `HttpError` when the message or the thread is gone, or the button is none. */
export function askedBy(gesture: Gesture, person: Person, shown: Shown): Asked {
  if ('text' in gesture) return askedBySaying(gesture, person, shown);
  return 'action' in gesture
    ? askedByPress(gesture, person, shown)
    : askedByForm(gesture, person, shown);
}

/** Words without a slash are a question. */
function askedBySaying(saying: Saying, person: Person, { history }: Shown): Asked {
  requireThread(saying, history);
  const { thread, text } = saying;
  const request = text.startsWith('/')
    ? { line: text }
    : { command: 'ask', values: { question: text } };
  return { request, person, thread, command: text };
}

function askedByForm(sent: SentForm, person: Person, { history }: Shown): Asked {
  requireThread(sent, history);
  const { thread, command, values } = sent;
  return { request: { command, values }, person, thread, command: `/${command}` };
}

/**
 * The message may have changed since the page showed the button, so what it carries is not looked up in it: the bot
 * checks what can still be done. What comes of it is shown in the thread of the message, or where a private one stands.
 */
function askedByPress(press: Press, person: Person, { history, answers }: Shown): Asked {
  const request = decodeAction(press.action);
  if (!request) throw new HttpError(400, 'invalid_value', 'There is no such button.');
  const asked = { request, person: { ...person, name: presserName(person.name) } };
  const { channel, message: id } = press;
  if (press.private) {
    requireThread(press, history);
    const { thread } = press;
    return { ...asked, thread, command: undefined, pressed: { message: id, private: true } };
  }
  const { thread = id } = press;
  const root = history.get(thread);
  const message = root?.channel === channel ? messageOf(root, id) : undefined;
  if (!message) throw notFound('This message is gone: it made room for newer ones.');
  const pressed = { message: id, private: false };
  return { ...asked, thread, command: labelOf(answers.latest(message), request), pressed };
}

/** Throws for a thread that is gone, or that stands in another channel. */
function requireThread({ channel, thread }: Gesture, history: History) {
  if (thread !== undefined && history.get(thread)?.channel !== channel) throw threadGone();
}

function messageOf({ message, replies }: RootMessage, id: string): Message | undefined {
  return [message, ...replies].find((one) => one.id === id);
}

type Pressed = Exclude<ReturnType<typeof decodeAction>, undefined>;

/** What stands on the button; `undefined` when the message no longer has it. */
function labelOf({ body }: Message, pressed: Pressed): string | undefined {
  if (body.kind === 'text') return undefined;
  const { actions } = body.kind === 'card' ? body.card : body;
  return actions?.find(({ command, values }) => isDeepStrictEqual({ command, values }, pressed))
    ?.label;
}
