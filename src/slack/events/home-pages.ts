import { createHash } from 'node:crypto';
import type { types } from '@slack/bolt';
import { readFailure } from '../api/call-failure.ts';
import type { HomeNotice } from '../render/render-home.ts';
import type { Workspace } from '../workspaces/workspace.ts';

type MakeHome = (notice: HomeNotice | undefined) => Promise<types.HomeView>;

interface Page {
  running?: Promise<void>;
  /** True if a change may have come after the last rendering began. */
  stale: boolean;
  notice?: HomeNotice & { untilMs: number };
  /** The last published home, with Slack's hash of it. */
  shown?: { digest: string; hash: string | undefined; atMs: number };
}

/** An unchanged home is published again only after this time, since Slack may show another one. */
const KEEP_MS = 60_000;
const NOTICE_MS = 60_000;
/** A forgotten home is published once too often. */
const MAX_PAGES = 1_000;

/** Publishes homes only when they change. */
export function createHomePages() {
  const pages = new Map<string, Page>();

  function pageOf(key: string): Page {
    const page = pages.get(key) ?? { stale: false };
    pages.delete(key);
    pages.set(key, page);
    for (const [oldest, { running }] of pages) {
      if (pages.size <= MAX_PAGES) break;
      if (!running) pages.delete(oldest);
    }
    return page;
  }

  async function publishOnce(
    page: Page,
    { workspace: { client, queue }, person }: { workspace: Workspace; person: string },
    make: MakeHome,
  ): Promise<void> {
    const { notice } = page;
    const view = await make(notice && performance.now() < notice.untilMs ? notice : undefined);
    const digest = createHash('sha256').update(JSON.stringify(view)).digest('base64');
    const { shown } = page;
    if (shown?.digest === digest && performance.now() - shown.atMs < KEEP_MS) return;
    const published = { user_id: person, view, ...(shown?.hash && { hash: shown.hash }) };
    try {
      const run = () => client.views.publish(published);
      // The limit is one for all people of the workspace.
      const call = { method: 'views.publish', channel: '', repeatable: true, run };
      const answer = await queue.patiently(call);
      page.shown = { digest, hash: answer.view?.hash, atMs: performance.now() };
    } catch (error) {
      page.shown = undefined;
      if (readFailure(error).code !== 'hash_conflict') throw error;
      // The process before published since: this home may be the older one.
      page.stale = true;
    }
  }

  return {
    /**
     * Publishes a person's home; a notice above it stays for a while. Calls during a rendering share the next one. Throws the
     * errors of the `WebClient`.
     */
    async publish(
      to: { workspace: Workspace; person: string },
      make: MakeHome,
      notice?: HomeNotice,
    ) {
      const page = pageOf(`${to.workspace.self.teamId}:${to.person}`);
      if (notice) page.notice = { ...notice, untilMs: performance.now() + NOTICE_MS };
      page.stale = true;
      page.running ??= (async () => {
        try {
          while (page.stale) {
            page.stale = false;
            await publishOnce(page, to, make);
          }
        } finally {
          page.running = undefined;
        }
      })();
      await page.running;
    },
  };
}
