import { encodeAction } from '../button-text.ts';
import type { CardAction, ConsoleEvent, ListedMessage, Message, Said } from '../wire.ts';
import { leadsToLogin, leadToLoginIfOut } from './session.ts';
import { apply, dismissed, emptyState, opened, type State } from './state.ts';

/** Pauses before a request that did not get through is repeated; its id makes the repeat harmless. */
const REPEAT_AFTER_MS = [500, 1_500, 4_000];

/** Pause before a refused event stream is asked for again. */
const RECONNECT_AFTER_MS = 1_500;

/** A button that somebody presses. */
export interface Pressed {
  action: CardAction;
  message: string;
  /** The thread that the message stands in; none at the top of the channel. */
  thread?: string;
  /** Only this tab has the message. */
  private?: true;
}

/** What the page knows, kept live, and what it can do. */
export interface Client {
  state(): State;
  subscribe(listener: () => void): () => void;
  openThread(root: string | undefined): void;
  /** Resolves to where the outcome is shown; throws an `Error` with a sentence to show. */
  say(text: string, thread?: string): Promise<Said>;
  /** Resolves and throws like `say`. */
  press(pressed: Pressed): Promise<Said>;
  dismiss(message: string): void;
}

/** Connects to the server this page came from. */
export function createClient(): Client {
  const client = crypto.randomUUID();
  const listeners = new Set<() => void>();
  let state = emptyState;
  let lastEventId = '';

  function set(next: State) {
    if (next === state) return;
    state = next;
    if (state.thread?.status === 'stale') void fetchThread(state.thread.root);
    for (const listener of listeners) listener();
  }

  function connect() {
    const query = new URLSearchParams({ client });
    if (lastEventId !== '') query.set('after', lastEventId);
    const source = new EventSource(`/console/events?${query}`);
    source.onopen = () => set({ ...state, connection: 'open' });
    source.onmessage = (message: MessageEvent<string>) => {
      lastEventId = message.lastEventId;
      set(apply(state, JSON.parse(message.data) as ConsoleEvent));
    };
    source.onerror = () => {
      set({ ...state, connection: 'lost' });
      // The browser comes back by itself after a cut, but not after a refusal such as 503.
      if (source.readyState !== EventSource.CLOSED) return;
      void leadToLoginIfOut();
      setTimeout(connect, RECONNECT_AFTER_MS);
    };
  }

  async function fetchThread(root: string) {
    const heard = state.thread?.root === root ? state.thread.heard : [];
    set({ ...state, thread: { root, status: 'loading', replies: keptReplies(root), heard } });
    try {
      const response = await fetch(`/console/threads/${encodeURIComponent(root)}`);
      if (response.status === 404) return gone(root);
      if (leadsToLogin(response)) return;
      if (!response.ok) throw new Error(await errorSentence(response));
      const { replies } = (await response.json()) as { listed: ListedMessage; replies: Message[] };
      set(opened(state, root, replies));
    } catch {
      setTimeout(() => state.thread?.root === root && void fetchThread(root), RECONNECT_AFTER_MS);
    }
  }

  /** What is already shown stays until the answer comes. */
  function keptReplies(root: string): Message[] {
    return state.thread?.root === root ? state.thread.replies : (state.privateReplies[root] ?? []);
  }

  function gone(root: string) {
    if (state.thread?.root !== root) return;
    set({ ...state, thread: { root, status: 'gone', replies: [], heard: [] } });
  }

  /** Each call is a gesture of its own. */
  async function tell(path: string, told: Record<string, unknown>): Promise<Said> {
    const gesture = { id: crypto.randomUUID(), client, channel: state.channels[0] ?? 'general' };
    const response = await postUntilAnswered(path, JSON.stringify({ ...gesture, ...told }));
    leadsToLogin(response);
    if (!response.ok) throw new Error(await errorSentence(response));
    return (await response.json()) as Said;
  }

  connect();
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    openThread(root) {
      if (root === state.thread?.root) return;
      if (root === undefined) return set({ ...state, thread: undefined });
      void fetchThread(root);
    },
    say: (text, thread) => tell('/console/sayings', { text, thread }),
    press: async (pressed) =>
      await tell('/console/presses', { ...pressed, action: encodeAction(pressed.action) }),
    dismiss: (message) => set(dismissed(state, message)),
  };
}

async function postUntilAnswered(path: string, body: string): Promise<Response> {
  for (const pauseMs of [...REPEAT_AFTER_MS, undefined]) {
    try {
      return await fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    } catch {
      if (pauseMs === undefined) break;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  throw new Error('Askwatch cannot be reached. Is it still running?');
}

/** What to show of something that `say` or `press` has thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function errorSentence(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    if (body.error?.message) return body.error.message;
  } catch {
    // Not the server's own error body; the status is all there is to tell.
  }
  return `Askwatch answered with status ${response.status}.`;
}
