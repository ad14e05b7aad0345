import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type {
  ConsoleEvent,
  ListedMessage,
  Message,
} from '../../../src/console/shared/api-types.ts';
import { openTab, repliesOf } from '../console/test-console.ts';
import { eventually } from '../eventually.ts';

/** Time limits of a stream before the browser changes to another process. */
const STAY_MS = { least: 5_000, more: 10_000 };

/** A browser that changes to another process when it loses its stream, and the state that it built from events. */
export class ConsoleBrowser {
  cookie = '';
  /** Snapshots after the first: the process could not tell what the browser had missed. */
  snapshots = -1;
  private isOver = false;
  private following: Promise<void> | undefined;
  private readonly urls: () => readonly string[];
  private readonly random: () => number;
  private listed = new Map<string, ListedMessage>();
  private messages = new Map<string, Message>();

  constructor(urls: () => readonly string[], random: () => number) {
    this.urls = urls;
    this.random = random;
  }

  /** Resolves once it is somebody. */
  async open(): Promise<void> {
    this.following = this.follow();
    await eventually(() => this.cookie !== '');
  }

  async close(): Promise<void> {
    this.isOver = true;
    await this.following;
  }

  /** Messages that a fresh browser receives and this one does not know in that form. */
  async missed(): Promise<unknown[]> {
    const [url = ''] = this.urls();
    const fresh = await openTab(url, { cookie: this.cookie });
    const snapshot = await eventually(() => fresh.heard.find(({ kind }) => kind === 'snapshot'));
    fresh.close();
    if (snapshot.kind !== 'snapshot') throw new Error('no snapshot');
    const missed: unknown[] = [];
    for (const { message } of snapshot.messages) {
      const before = this.listed.get(message.id)?.thread;
      const replies = await repliesOf(url, message.id, this.cookie);
      for (const [at, shown] of [message, ...replies].entries()) {
        // A snapshot brings no earlier replies; the page loads the thread again for them.
        const isOld = before && at > 0 && at <= before.replies && !before.growing;
        const known = this.messages.get(shown.id);
        if (isOld && !known) continue;
        if (!isDeepStrictEqual(known, shown)) missed.push({ shown, known });
      }
    }
    return missed;
  }

  private async follow() {
    while (!this.isOver) {
      const all = this.urls();
      const url = all[Math.floor(this.random() * all.length)] ?? '';
      const cookie = this.cookie === '' ? undefined : this.cookie;
      const tab = await openTab(url, { cookie }).catch(() => undefined);
      if (!tab) {
        await pause(200);
        continue;
      }
      this.cookie = tab.cookie;
      const untilMs = performance.now() + STAY_MS.least + this.random() * STAY_MS.more;
      await eventually(() => tab.ended || this.isOver || performance.now() > untilMs);
      tab.close();
      for (const event of tab.heard) this.apply(event);
    }
  }

  private apply(event: ConsoleEvent) {
    if (event.kind === 'snapshot') {
      this.snapshots += 1;
      this.listed = new Map(event.messages.map((one) => [one.message.id, one]));
      this.messages = new Map(event.messages.map(({ message }) => [message.id, message]));
    } else if (event.kind === 'message') {
      this.messages.set(event.listed.message.id, event.listed.message);
    } else if (event.kind === 'reply') {
      this.messages.set(event.reply.id, event.reply);
    }
  }
}
