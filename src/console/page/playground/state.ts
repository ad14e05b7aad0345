import type {
  Card,
  ConsoleEvent,
  ListedCommand,
  ListedMessage,
  Message,
  OlderMessages,
  Snapshot,
  Someone,
} from '../../shared/api-types.ts';

/** The thread beside the channel. */
export interface OpenThread {
  root: string;
  /** `stale`: something was missed, so it has to be fetched again. */
  status: 'loading' | 'open' | 'stale' | 'gone';
  replies: Message[];
  /** The message it stands under, as it was fetched: it can be older than those of the channel. */
  listed?: ListedMessage;
  /** Events that came while it was being fetched. */
  pending: ConsoleEvent[];
}

/** Everything the page shows. */
export interface State {
  connection: 'connecting' | 'open' | 'lost';
  /** Whoever reads this. */
  person: Someone;
  /** What everyone is called now, by their ids. */
  names: ReadonlyMap<string, string>;
  channels: string[];
  commands: ListedCommand[];
  /** Of all channels, oldest first. */
  messages: ListedMessage[];
  /** The channels that have older messages than these. */
  older: string[];
  thread: OpenThread | undefined;
  /** Replies that only this person has, by thread. */
  privateReplies: Record<string, Message[]>;
  /** What a screen reader announces next. */
  announcement: string;
  /** Messages of Askwatch that have come, for the title of a tab in the background. */
  arrivals: number;
}

export const emptyState: State = {
  connection: 'connecting',
  person: { id: '', name: '' },
  names: new Map(),
  channels: [],
  commands: [],
  messages: [],
  older: [],
  thread: undefined,
  privateReplies: {},
  announcement: '',
  arrivals: 0,
};

/** The state after an event. Applying an event a second time changes nothing. Pure. */
export function apply(state: State, event: ConsoleEvent): State {
  switch (event.kind) {
    case 'snapshot':
      return begun(state, event);
    case 'person':
      return {
        ...state,
        person: event.person.id === state.person.id ? event.person : state.person,
        names: new Map(state.names).set(event.person.id, event.person.name),
      };
    case 'channel':
      return state.channels.includes(event.channel)
        ? state
        : { ...state, channels: [...state.channels, event.channel] };
    case 'message':
      return withMessage(state, event.listed);
    case 'removed':
      return dismissed(state, event.message);
    case 'reply':
      return withReply(announced(state, event.reply), event);
    case 'text':
      return withText(state, event);
  }
}

/** Begins again; what this person alone has stays, also when the server no longer has it. */
function begun(state: State, snapshot: Snapshot): State {
  const { person, people, channels, commands, messages, older } = snapshot;
  const isSame = state.person.id === person.id;
  const listed = new Set(messages.map(({ message }) => message.id));
  const kept = isSame ? state.messages.filter((one) => isPrivate(one) && isWhole(one)) : [];
  return {
    ...state,
    connection: 'open',
    person,
    channels,
    commands,
    older,
    names: new Map(people.map(({ id, name }) => [id, name])),
    messages: [...messages, ...kept.filter(({ message }) => !listed.has(message.id))].sort(byTime),
    privateReplies: isSame ? state.privateReplies : {},
    thread: state.thread && { ...state.thread, status: 'stale' },
  };
}

/** The state after older messages of a channel were fetched. Pure. */
export function withOlder(state: State, channel: string, { messages, more }: OlderMessages): State {
  const known = new Set(state.messages.map(({ message }) => message.id));
  const fresh = messages.filter(({ message }) => !known.has(message.id));
  return {
    ...state,
    messages: [...fresh, ...state.messages].sort(byTime),
    older: more ? state.older : state.older.filter((one) => one !== channel),
  };
}

/** The state after a thread was fetched: events that came meanwhile are applied on top. Pure. */
export function opened(
  state: State,
  root: string,
  replies: Message[],
  listed?: ListedMessage,
): State {
  const { thread } = state;
  if (thread?.root !== root) return state;
  const open: State = {
    ...state,
    thread: {
      root,
      status: 'open',
      ...(listed && { listed }),
      replies: withPrivate(replies, state.privateReplies[root] ?? []),
      pending: [],
    },
  };
  return thread.pending.reduce(apply, open);
}

/** The state without a message. Pure. */
export function dismissed(state: State, id: string): State {
  const without = (messages: Message[]) => messages.filter((message) => message.id !== id);
  return {
    ...state,
    messages: state.messages.filter(({ message }) => message.id !== id),
    thread: state.thread && { ...state.thread, replies: without(state.thread.replies) },
    privateReplies: Object.fromEntries(
      Object.entries(state.privateReplies).map(([root, replies]) => [root, without(replies)]),
    ),
  };
}

/** Whether the reader made this message come. */
export function isOwn(message: Message | undefined, reader: Someone): boolean {
  const { author, by } = message ?? {};
  const isTheirs = author?.kind === 'person' && author.id === reader.id;
  return isTheirs || by?.id === reader.id || message?.private === true;
}

const isPrivate = ({ message }: ListedMessage) => message.private === true;

/** One that grew when the server went is never going to end. */
const isWhole = ({ message: { body } }: ListedMessage) => body.kind !== 'answer' || !body.growing;

/** What the server tells of a private reply is newer than what was heard. */
function withPrivate(replies: Message[], own: Message[]): Message[] {
  const told = new Set(replies.map(({ id }) => id));
  return [...replies, ...own.filter(({ id }) => !told.has(id))].sort((a, b) => a.atMs - b.atMs);
}

const byTime = (a: ListedMessage, b: ListedMessage) => a.message.atMs - b.message.atMs;

function withMessage(state: State, listed: ListedMessage): State {
  const at = state.messages.findIndex(({ message }) => message.id === listed.message.id);
  if (at < 0) {
    return { ...announced(state, listed.message), messages: [...state.messages, listed] };
  }
  const before = state.messages[at]?.message;
  const next = { ...state, messages: state.messages.with(at, listed) };
  const changed = before?.changedAtMs !== listed.message.changedAtMs;
  return changed ? announced(next, listed.message) : next;
}

function withReply(state: State, event: ConsoleEvent & { kind: 'reply' }): State {
  const { root, reply } = event;
  const next = reply.private
    ? {
        ...state,
        privateReplies: {
          ...state.privateReplies,
          [root]: put(state.privateReplies[root] ?? [], reply),
        },
      }
    : state;
  return onThread(next, event, (thread) => ({ ...thread, replies: put(thread.replies, reply) }));
}

function withText(state: State, event: ConsoleEvent & { kind: 'text' }): State {
  const { root, reply } = event;
  if (reply === undefined) {
    const at = state.messages.findIndex(({ message }) => message.id === root);
    const listed = state.messages[at];
    const message = listed && grown(listed.message, event);
    return listed && message
      ? { ...state, messages: state.messages.with(at, { ...listed, message }) }
      : state;
  }
  const kept = state.privateReplies[root] ?? [];
  const next = {
    ...state,
    privateReplies: { ...state.privateReplies, [root]: kept.map((m) => growIf(m, reply, event)) },
  };
  return onThread(kept.length > 0 ? next : state, event, (thread) => {
    const at = thread.replies.findIndex(({ id }) => id === reply);
    const message = thread.replies[at] && grown(thread.replies[at], event);
    return message
      ? { ...thread, replies: thread.replies.with(at, message) }
      : { ...thread, status: 'stale' };
  });
}

const growIf = (message: Message, id: string, event: ConsoleEvent & { kind: 'text' }) =>
  message.id === id ? (grown(message, event) ?? message) : message;

/** Applies to the open thread, or keeps the event for when it has been fetched. */
function onThread(
  state: State,
  event: ConsoleEvent & { root: string },
  change: (thread: OpenThread) => OpenThread,
): State {
  const { thread } = state;
  if (thread?.root !== event.root || thread.status === 'gone') return state;
  if (thread.status === 'open') return { ...state, thread: change(thread) };
  return { ...state, thread: { ...thread, pending: [...thread.pending, event] } };
}

function put(messages: Message[], message: Message): Message[] {
  const at = messages.findIndex(({ id }) => id === message.id);
  return at < 0 ? [...messages, message] : messages.with(at, message);
}

/** The answer with the text added; `undefined` when something between is missing. */
function grown(
  message: Message,
  { offset, text }: { offset: number; text: string },
): Message | undefined {
  const { body } = message;
  if (body.kind !== 'answer' || !body.growing) return message;
  if (offset > body.text.length) return undefined;
  const whole = body.text + text.slice(body.text.length - offset);
  return { ...message, body: { ...body, text: whole } };
}

function announced(state: State, message: Message): State {
  if (message.author.kind === 'person') return state;
  const { body } = message;
  if (body.kind === 'answer' && body.growing) return state;
  const words = body.kind === 'card' ? cardInWords(body.card, message) : answerInWords(body);
  return { ...state, announcement: words, arrivals: state.arrivals + 1 };
}

const answerInWords = ({ text }: { text: string }) => `Askwatch answered: ${text.slice(0, 300)}`;

/** A screen reader is silent when its words stay the same, and a card that has changed may keep its title. */
function cardInWords({ title, parts }: Card, { changedAtMs }: Message): string {
  const text = changedAtMs === undefined ? undefined : parts.find(({ kind }) => kind === 'text');
  return text?.kind === 'text' ? `${title} ${text.text.slice(0, 300)}` : title;
}
