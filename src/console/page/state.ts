import type { ConsoleEvent, ListedCommand, ListedMessage, Message } from '../wire.ts';

/** The thread beside the channel. */
export interface OpenThread {
  root: string;
  /** `stale`: something was missed, so it has to be fetched again. */
  status: 'loading' | 'open' | 'stale' | 'gone';
  replies: Message[];
  /** What was heard while it was being fetched. */
  heard: ConsoleEvent[];
}

/** Everything the page shows. */
export interface State {
  connection: 'connecting' | 'open' | 'lost';
  person: { id: string; name: string };
  channels: string[];
  commands: ListedCommand[];
  messages: ListedMessage[];
  thread: OpenThread | undefined;
  /** Replies that only this tab was told, by thread; no server keeps them. */
  privateReplies: Record<string, Message[]>;
  /** What a screen reader says next. */
  announcement: string;
  /** Messages of Askwatch that have come, for the title of a tab in the background. */
  arrivals: number;
}

export const emptyState: State = {
  connection: 'connecting',
  person: { id: '', name: '' },
  channels: [],
  commands: [],
  messages: [],
  thread: undefined,
  privateReplies: {},
  announcement: '',
  arrivals: 0,
};

/** The state after an event. Applying an event a second time changes nothing. Pure. */
export function apply(state: State, event: ConsoleEvent): State {
  switch (event.kind) {
    case 'snapshot':
      return {
        ...state,
        connection: 'open',
        person: event.person,
        channels: event.channels,
        commands: event.commands,
        messages: [...event.messages, ...state.messages.filter(isPrivate)].sort(byTime),
        thread: state.thread && { ...state.thread, status: 'stale' },
      };
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

/** The state after a thread was fetched: what was heard meanwhile comes on top. Pure. */
export function opened(state: State, root: string, replies: Message[]): State {
  const { thread } = state;
  if (thread?.root !== root) return state;
  const open: State = {
    ...state,
    thread: {
      root,
      status: 'open',
      replies: [...replies, ...(state.privateReplies[root] ?? [])].sort((a, b) => a.atMs - b.atMs),
      heard: [],
    },
  };
  return thread.heard.reduce(apply, open);
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
export function isOwn(message: Message | undefined): boolean {
  return (
    message?.author.kind === 'person' || message?.command !== undefined || message?.private === true
  );
}

const isPrivate = ({ message }: ListedMessage) => message.private === true;

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
  return { ...state, thread: { ...thread, heard: [...thread.heard, event] } };
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
  const words =
    body.kind === 'card' ? body.card.title : `Askwatch answered: ${body.text.slice(0, 300)}`;
  return { ...state, announcement: words, arrivals: state.arrivals + 1 };
}
