import type {
  ConsoleEvent,
  ListedMessage,
  Message,
  OlderMessages,
} from '../../shared/api-types.ts';
import { createLiveState, keepConnected } from '../shared/live-state.ts';
import { errorSentence } from '../shared/requests.ts';
import { leadsToLogin, leadToLoginIfOut } from '../shared/session.ts';
import { dismissMessage, fetchJson } from './requests.ts';
import {
  applyEvent,
  type ChatState,
  emptyState,
  withOlder,
  withOpenedThread,
  withoutMessage,
} from './state.ts';

/** Pause before a thread that could not be fetched is fetched again. */
const RETRY_AFTER_MS = 1_500;

/** The page's state, kept up to date by the events of the server that the page came from. */
export class ChatClient {
  private readonly live = createLiveState(emptyState);
  private readonly fetchingOlder = new Set<string>();
  private fetchingThread = new AbortController();

  readonly state = this.live.state;
  readonly subscribe = this.live.subscribe;

  constructor() {
    keepConnected({
      url: '/console/events',
      onOpen: () => this.set({ ...this.state(), connection: 'open' }),
      onMessage: ({ data }) => this.set(applyEvent(this.state(), JSON.parse(data) as ConsoleEvent)),
      onLost: () => this.set({ ...this.state(), connection: 'lost' }),
      onRefused: () => void leadToLoginIfOut(),
    });
  }

  openThread(root: string | undefined): void {
    if (root === this.state().thread?.root) return;
    if (root === undefined) this.set({ ...this.state(), thread: undefined });
    else void this.fetchThread(root);
  }

  dismiss = (message: string): void => {
    this.set(withoutMessage(this.state(), message));
    void dismissMessage(message);
  };

  /** Fetches the messages before the oldest one. Does nothing while it is fetching them. */
  async fetchOlder(channel: string): Promise<void> {
    const oldest = this.state().messages.find(
      (one) => one.channel === channel && !one.message.private,
    );
    if (!oldest || this.fetchingOlder.has(channel)) return;
    this.fetchingOlder.add(channel);
    try {
      const query = new URLSearchParams({ before: oldest.message.id });
      const path = `/console/channels/${encodeURIComponent(channel)}/messages?${query}`;
      this.set(withOlder(this.state(), channel, await fetchJson<OlderMessages>(path)));
    } finally {
      this.fetchingOlder.delete(channel);
    }
  }

  private set(next: ChatState) {
    if (next === this.state()) return;
    this.live.set(next);
    const { thread } = this.state();
    if (thread?.status === 'stale') void this.fetchThread(thread.root);
  }

  private async fetchThread(root: string) {
    // An older response would undo the events that came after it.
    this.fetchingThread.abort();
    this.fetchingThread = new AbortController();
    const { signal } = this.fetchingThread;
    this.showLoading(root);
    try {
      const response = await fetch(`/console/threads/${encodeURIComponent(root)}`, { signal });
      if (response.status === 404) return this.showGone(root);
      if (leadsToLogin(response)) return;
      if (!response.ok) throw new Error(await errorSentence(response));
      const { listed, replies } = (await response.json()) as {
        listed: ListedMessage;
        replies: Message[];
      };
      this.set(withOpenedThread(this.state(), root, replies, listed));
    } catch {
      const isWanted = () => !signal.aborted && this.state().thread?.root === root;
      setTimeout(() => isWanted() && void this.fetchThread(root), RETRY_AFTER_MS);
    }
  }

  /** Keeps the replies on the screen, and the events that a response would not have. */
  private showLoading(root: string) {
    const { thread, privateReplies } = this.state();
    const isSame = thread?.root === root;
    const replies = isSame ? thread.replies : (privateReplies[root] ?? []);
    const pending = isSame ? thread.pending : [];
    this.set({ ...this.state(), thread: { root, status: 'loading', replies, pending } });
  }

  private showGone(root: string) {
    if (this.state().thread?.root !== root) return;
    this.set({ ...this.state(), thread: { root, status: 'gone', replies: [], pending: [] } });
  }
}
