import type {
  CardAction,
  ConsoleEvent,
  ListedMessage,
  Message,
  OlderMessages,
  Outcome,
  ShownFile,
  Someone,
} from '../../shared/api-types.ts';
import { encodeAction } from '../../shared/from-bot.ts';
import type { Where } from '../shared/draft.ts';
import { createLiveState, keepConnected } from '../shared/live-state.ts';
import { randomId } from '../shared/random-id.ts';
import { errorSentence, postUntilAnswered } from '../shared/requests.ts';
import { leadsToLogin, leadToLoginIfOut } from '../shared/session.ts';
import type { Suggested } from './composer/completion.ts';
import { apply, dismissed, emptyState, opened, type State, withOlder } from './state.ts';

/** Pause before a thread that could not be fetched is asked for again. */
const RETRY_AFTER_MS = 1_500;

/** A button that somebody presses. */
export interface Pressed {
  action: CardAction;
  message: string;
  /** Only this person has the message. */
  private?: true;
}

/** What is in a file, read off the thread that the page runs in. */
function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => reject(new Error("This file can't be read."));
    reader.readAsDataURL(file);
  });
}

/** Where the file of an answer is. */
export const documentAddress = (root: string, message: string) =>
  `/console/threads/${encodeURIComponent(root)}/documents/${encodeURIComponent(message)}`;

/** What the page knows, kept live, and what it can do. */
export type Client = ReturnType<typeof createClient>;

/** Connects to the server this page came from. */
export function createClient() {
  const live = createLiveState(emptyState);
  const { state } = live;
  let lastEventId = '';
  const fetchingOlder = new Set<string>();
  let fetchingThread = new AbortController();

  function set(next: State) {
    if (next === state()) return;
    live.set(next);
    const { thread } = state();
    if (thread?.status === 'stale') void fetchThread(thread.root);
  }

  async function fetchThread(root: string) {
    // What comes meanwhile is kept for the first that is answered: an older one would undo it.
    fetchingThread.abort();
    fetchingThread = new AbortController();
    const { signal } = fetchingThread;
    const { thread } = state();
    const pending = thread?.root === root ? thread.pending : [];
    set({
      ...state(),
      thread: { root, status: 'loading', replies: keptReplies(root), pending },
    });
    try {
      const response = await fetch(`/console/threads/${encodeURIComponent(root)}`, { signal });
      if (response.status === 404) return gone(root);
      if (leadsToLogin(response)) return;
      if (!response.ok) throw new Error(await errorSentence(response));
      const { listed, replies } = (await response.json()) as {
        listed: ListedMessage;
        replies: Message[];
      };
      set(opened(state(), root, replies, listed));
    } catch {
      const isAwaited = () => !signal.aborted && state().thread?.root === root;
      setTimeout(() => isAwaited() && void fetchThread(root), RETRY_AFTER_MS);
    }
  }

  /** What is already shown stays until the answer comes. */
  function keptReplies(root: string): Message[] {
    const { thread, privateReplies } = state();
    return thread?.root === root ? thread.replies : (privateReplies[root] ?? []);
  }

  function gone(root: string) {
    if (state().thread?.root !== root) return;
    set({ ...state(), thread: { root, status: 'gone', replies: [], pending: [] } });
  }

  async function fetchOlder(channel: string) {
    const oldest = state().messages.find((one) => one.channel === channel && !one.message.private);
    if (!oldest || fetchingOlder.has(channel)) return;
    fetchingOlder.add(channel);
    try {
      const query = new URLSearchParams({ before: oldest.message.id });
      const response = await fetch(
        `/console/channels/${encodeURIComponent(channel)}/messages?${query}`,
      );
      if (!response.ok) throw new Error(await errorSentence(response));
      set(withOlder(state(), channel, (await response.json()) as OlderMessages));
    } finally {
      fetchingOlder.delete(channel);
    }
  }

  async function post<T>(path: string, fields: Record<string, unknown>): Promise<T> {
    const response = await postUntilAnswered(path, fields);
    leadsToLogin(response);
    if (!response.ok) throw new Error(await errorSentence(response));
    return (await response.json()) as T;
  }

  /** Each call is an interaction of its own. */
  const interact = (path: string, fields: Record<string, unknown>, where: Where) =>
    post<Outcome>(path, { id: randomId(), ...where, ...fields });

  keepConnected({
    url() {
      const query = lastEventId === '' ? '' : `?${new URLSearchParams({ after: lastEventId })}`;
      return `/console/events${query}`;
    },
    onOpen: () => set({ ...state(), connection: 'open' }),
    onMessage(message) {
      lastEventId = message.lastEventId;
      set(apply(state(), JSON.parse(message.data) as ConsoleEvent));
    },
    onLost: () => set({ ...state(), connection: 'lost' }),
    onRefused: () => void leadToLoginIfOut(),
  });
  return {
    state,
    subscribe: live.subscribe,
    openThread(root: string | undefined) {
      if (root === state().thread?.root) return;
      if (root === undefined) return set({ ...state(), thread: undefined });
      void fetchThread(root);
    },
    /** Resolves to where the outcome is shown; throws an `Error` with a sentence to show. */
    send: (text: string, files: string[], where: Where) =>
      interact('/console/sayings', { text, ...(files.length > 0 && { files }) }, where),
    /** Has the server keep a file that is to be sent; throws like `send`, or when the signal aborts. */
    async upload(channel: string, name: string, file: Blob, signal: AbortSignal) {
      const data = await base64Of(file);
      signal.throwIfAborted();
      return await post<ShownFile>('/console/files', { channel, name, data });
    },
    /** Resolves and throws like `send`. */
    press: async (pressed: Pressed, where: Where) => {
      const action = encodeAction(pressed.action);
      return await interact('/console/presses', { ...pressed, action }, where);
    },
    /** Resolves and throws like `send`. */
    sendForm: (command: string, values: Record<string, string>, where: Where) =>
      interact('/console/forms', { command, values }, where),
    dismiss(message: string) {
      set(dismissed(state(), message));
      // Until it gets through, it is only this tab that no longer shows it.
      post('/console/dismissals', { message }).catch(() => undefined);
    },
    /** Fetches the messages before the oldest that is known; does nothing while it does so. */
    fetchOlder,
    /** What the server offers for an input; nothing when it cannot be reached. */
    async suggest(input: string, typed: string, signal: AbortSignal) {
      const query = new URLSearchParams({ input, typed });
      try {
        const response = await fetch(`/console/suggestions?${query}`, { signal });
        return response.ok ? ((await response.json()) as Suggested[]) : [];
      } catch {
        // Typed on, or the server is gone, which the page shows elsewhere.
        return [];
      }
    },
    /** Throws an `Error` with a sentence to show. */
    rename: (name: string) => post<Someone>('/console/name', { name }),
    /** Resolves to the channel's name; throws like `rename`. */
    createChannel: async (name: string) =>
      (await post<{ channel: string }>('/console/channels', { name })).channel,
  };
}
