import { Client } from 'pg';
import type { Logger } from 'pino';
import { connectionConfig, type Database } from './database.ts';
import { createPendingWork } from './pending-work.ts';

/** Word that something was changed, between the processes that use a database. */
export type ChangeNews = ReturnType<typeof openNews>;

/** Every topic is polled so often, because notifications sent while nobody listens are lost. */
const POLL_EVERY_MS = 1_000;

/** Word is spread so often at most: the commits of all that is said share one lock of the server. */
const SAY_EVERY_MS = 50;

const LISTEN_AGAIN_AFTER_MS = 1_000;

/** Topics in one message; what a message may hold is 8,000 bytes. */
const MAX_TOPICS = 100;

/**
 * Listens on a connection of its own, and polls: word wakes, tables tell. Nothing depends on word coming through, so a
 * database behind a pooler only answers a second later.
 */
export function openNews(options: { database: Database; directUrl: string; log: Logger }) {
  const { database, directUrl, log } = options;
  const channel = `askwatch_${database.schema}`;
  const pollsOf = new Map<string, Set<() => Promise<void>>>();
  const polling = createPendingWork();
  const toSay = new Set<string>();
  let saying: NodeJS.Timeout | undefined;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  /** Ends what the listener waits for. */
  let endTurn = () => {};
  let closed = false;

  function wake(name: string) {
    if (closed) return;
    for (const poll of pollsOf.get(name) ?? []) {
      polling
        .track(poll())
        .catch((error: unknown) => log.debug({ err: error }, 'could not read changes'));
    }
  }

  function wakeAll() {
    for (const name of pollsOf.keys()) wake(name);
  }

  async function say() {
    saying = undefined;
    saidAtMs = performance.now();
    const payload = [...toSay].slice(0, MAX_TOPICS).join(' ');
    toSay.clear();
    await database.pool
      .query('select pg_notify($1, $2)', [channel, payload])
      .catch((error: unknown) =>
        log.debug({ err: error }, 'could not notify other processes; they poll'),
      );
  }

  async function listen() {
    while (!closed) {
      const client = new Client(connectionConfig(directUrl));
      const ended = new Promise<void>((resolve) => {
        client.on('end', resolve);
        client.on('error', () => resolve());
        endTurn = resolve;
      });
      client.on('notification', ({ payload = '' }) => payload.split(' ').forEach(wake));
      const connecting = client.connect();
      // Given up when this closes meanwhile, it may still fail.
      connecting.catch(() => {});
      try {
        await Promise.race([connecting, ended]);
        if (!closed) await client.query(`listen ${client.escapeIdentifier(channel)}`);
        // Notifications before the LISTEN are lost.
        wakeAll();
        await ended;
      } catch (error) {
        log.debug({ err: error }, 'could not listen to other processes; polling');
      }
      void client.end().catch(() => {});
      if (!closed) await pause(LISTEN_AGAIN_AFTER_MS);
    }
  }

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      endTurn = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const timer = setInterval(wakeAll, POLL_EVERY_MS).unref();
  const listening = listen();

  return {
    /** Calls `poll`, which shares runs as `inTurn` does, when somebody said that the topic has news, and every second. */
    follow(topic: string, poll: () => Promise<void>): { stop(): void } {
      const polls = pollsOf.get(topic) ?? new Set();
      pollsOf.set(topic, polls);
      polls.add(poll);
      return { stop: () => void polls.delete(poll) };
    },
    /** Says that a topic has news: at once, or a moment later together with what else is said. */
    announce(topic: string): void {
      if (closed) return;
      toSay.add(topic);
      const afterMs = Math.max(0, saidAtMs + SAY_EVERY_MS - performance.now());
      saying ??= setTimeout(() => void say(), afterMs).unref();
    },
    async close(): Promise<void> {
      if (saying) {
        clearTimeout(saying);
        await say();
      }
      closed = true;
      clearInterval(timer);
      endTurn();
      await listening;
      await polling.idle();
    },
  };
}

/** News that are followed until a signal aborts. */
export const newsUntil = (signal: AbortSignal, news: ChangeNews): ChangeNews => ({
  ...news,
  follow(topic, poll) {
    const following = news.follow(topic, poll);
    if (signal.aborted) following.stop();
    else signal.addEventListener('abort', following.stop, { once: true });
    return following;
  },
});
