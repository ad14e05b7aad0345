import type {
  Card,
  ConsoleEvent,
  ConsolePerson,
  ConsoleSnapshot,
  ListedCommand,
  ListedMessage,
  Message,
  OlderMessages,
} from '../../shared/api-types.ts';

/**
 * The thread next to the channel.
 * - loading: it is being fetched, because the reader opened it. Its events wait in `pending`.
 * - open: events change it.
 * - stale: an event was missed, or the page has a new snapshot. The client fetches it again, which makes it `loading`.
 * - gone: the server deleted it. It stays so.
 */
export interface OpenThread {
  root: string;
  status: 'loading' | 'open' | 'stale' | 'gone';
  replies: Message[];
  /** The message above the thread, which may be older than the channel's messages. */
  listed?: ListedMessage;
  pending: ConsoleEvent[];
}

export interface ChatState {
  connection: 'connecting' | 'open' | 'lost';
  person: ConsolePerson;
  names: ReadonlyMap<string, string>;
  channels: string[];
  commands: ListedCommand[];
  messages: ListedMessage[];
  older: string[];
  thread: OpenThread | undefined;
  privateReplies: Record<string, Message[]>;
  announcement: string;
  arrivals: number;
}

export const emptyState: ChatState = {
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

/** Applying an event a second time changes nothing. Pure. */
export function applyEvent(state: ChatState, event: ConsoleEvent): ChatState {
  switch (event.kind) {
    case 'snapshot':
      return withSnapshot(state, event);
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
      return withoutMessage(state, event.message);
    case 'reply':
      return withReply(withAnnouncement(state, event.reply), event);
    case 'text':
      return withText(state, event);
  }
}

/** Begins again, and keeps the reader's private messages even if the server has lost them. */
function withSnapshot(state: ChatState, snapshot: ConsoleSnapshot): ChatState {
  const { person, people, channels, commands, messages, older } = snapshot;
  const isSame = state.person.id === person.id;
  const listed = new Set(messages.map(({ message }) => message.id));
  const known = new Set(state.messages.map(({ message }) => message.id));
  const missed = isSame ? messages.filter(({ message }) => !known.has(message.id)) : [];
  const loaded = isSame ? loadedBefore(state, messages) : [];
  const kept = isSame ? state.messages.filter((one) => isPrivate(one) && isWhole(one)) : [];
  const hasLoaded = (name: string) => loaded.some(({ channel }) => channel === name);
  return {
    ...missed.reduce((next, { message }) => withAnnouncement(next, message), state),
    connection: 'open',
    person,
    channels,
    commands,
    older: older.filter((channel) => !hasLoaded(channel) || state.older.includes(channel)),
    names: new Map(people.map(({ id, name }) => [id, name])),
    messages: [
      ...loaded,
      ...messages,
      ...kept.filter(({ message }) => !listed.has(message.id)),
    ].sort(byTime),
    privateReplies: isSame ? state.privateReplies : {},
    thread: state.thread && { ...state.thread, status: 'stale' },
  };
}

/** Older messages that the reader has loaded, in channels where the snapshot leaves no gap after them. */
function loadedBefore({ messages }: ChatState, snapshot: readonly ListedMessage[]) {
  const known = new Set(messages.map(({ message }) => message.id));
  return messages.filter((one) => {
    const first = snapshot.find(({ channel }) => channel === one.channel);
    const hasGap = !first || !known.has(first.message.id);
    return !hasGap && !one.message.private && byTime(one, first) < 0;
  });
}

export function withOlder(
  state: ChatState,
  channel: string,
  { messages, more }: OlderMessages,
): ChatState {
  const known = new Set(state.messages.map(({ message }) => message.id));
  const fresh = messages.filter(({ message }) => !known.has(message.id));
  return {
    ...state,
    messages: [...fresh, ...state.messages].sort(byTime),
    older: more ? state.older : state.older.filter((one) => one !== channel),
  };
}

/** Shows a fetched thread, and applies the events that came in the meantime. Pure. */
export function withOpenedThread(
  state: ChatState,
  root: string,
  replies: Message[],
  listed?: ListedMessage,
): ChatState {
  const { thread } = state;
  if (thread?.root !== root) return state;
  const open: ChatState = {
    ...state,
    thread: {
      root,
      status: 'open',
      listed,
      replies: withPrivate(replies, state.privateReplies[root] ?? []),
      pending: [],
    },
  };
  return thread.pending.reduce(applyEvent, open);
}

export function withoutMessage(state: ChatState, id: string): ChatState {
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

/** True for the reader's own messages and for replies to the reader. */
export function isOwn(message: Message | undefined, reader: ConsolePerson): boolean {
  const { author, by } = message ?? {};
  const isTheirs = author?.kind === 'person' && author.id === reader.id;
  return isTheirs || by?.id === reader.id || message?.private === true;
}

const isPrivate = ({ message }: ListedMessage) => message.private === true;

/** An answer that was growing when the server stopped will never end. */
const isWhole = ({ message: { body } }: ListedMessage) => body.kind !== 'answer' || !body.growing;

/** The fetched version of a private reply is newer than the one from events. */
function withPrivate(fetched: Message[], own: Message[]): Message[] {
  const ids = new Set(fetched.map(({ id }) => id));
  return [...fetched, ...own.filter(({ id }) => !ids.has(id))].sort((a, b) => a.atMs - b.atMs);
}

const byTime = (a: ListedMessage, b: ListedMessage) => a.message.atMs - b.message.atMs;

function withMessage(state: ChatState, listed: ListedMessage): ChatState {
  const at = state.messages.findIndex(({ message }) => message.id === listed.message.id);
  if (at < 0) {
    return { ...withAnnouncement(state, listed.message), messages: [...state.messages, listed] };
  }
  const before = state.messages[at]?.message;
  const next = { ...state, messages: state.messages.with(at, listed) };
  const changed = before?.changedAtMs !== listed.message.changedAtMs;
  return changed ? withAnnouncement(next, listed.message) : next;
}

function withReply(state: ChatState, event: ConsoleEvent & { kind: 'reply' }): ChatState {
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

function withText(state: ChatState, event: ConsoleEvent & { kind: 'text' }): ChatState {
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

/** Changes the open thread, or keeps the event until the thread is fetched. */
function onThread(
  state: ChatState,
  event: ConsoleEvent & { root: string },
  change: (thread: OpenThread) => OpenThread,
): ChatState {
  const { thread } = state;
  if (thread?.root !== event.root || thread.status === 'gone') return state;
  if (thread.status === 'open') return { ...state, thread: change(thread) };
  return { ...state, thread: { ...thread, pending: [...thread.pending, event] } };
}

function put(messages: Message[], message: Message): Message[] {
  const at = messages.findIndex(({ id }) => id === message.id);
  return at < 0 ? [...messages, message] : messages.with(at, message);
}

/** Adds text to an answer; `undefined` if text before it is missing. */
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

function withAnnouncement(state: ChatState, message: Message): ChatState {
  if (message.author.kind === 'person') return state;
  const { body } = message;
  if (body.kind === 'answer' && body.growing) return state;
  const words = body.kind === 'card' ? cardInWords(body.card, message) : answerInWords(body);
  return { ...state, announcement: words, arrivals: state.arrivals + 1 };
}

const answerInWords = ({ text }: { text: string }) => `Askwatch answered: ${text.slice(0, 300)}`;

/** A changed card may keep its title, and a screen reader doesn't repeat the same words. */
function cardInWords({ title, parts }: Card, { changedAtMs }: Message): string {
  const text = changedAtMs === undefined ? undefined : parts.find(({ kind }) => kind === 'text');
  return text?.kind === 'text' ? `${title} ${text.text.slice(0, 300)}` : title;
}
