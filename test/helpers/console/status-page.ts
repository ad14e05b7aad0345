import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { createConsole } from '../../../src/console/console.ts';
import { createServer } from '../../../src/http/server.ts';
import { recordingLog } from '../recording-log.ts';
import { openTestStore } from '../test-store.ts';
import { type OpenOptions, openPageIn } from './open-page.ts';
import { BUILT_PAGE, NO_FACTS } from './test-console.ts';

/** The real console over the monitoring service at `url`; it ends with the running test. */
export async function startStatusPage(
  service: { url: string; key: string },
  { pollMs = 200 }: { pollMs?: number } = {},
): Promise<{ url: string }> {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const kit = await createServer({ log, version: '0.0.0' });
  const monitoring = () =>
    createMonitoringClient({ baseUrl: service.url, apiKey: service.key, log });
  await createConsole({
    kit,
    store,
    log,
    botFacts: NO_FACTS,
    status: { monitoring, pollMs, addressFor: () => '' },
    pageFolder: BUILT_PAGE,
  });
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await kit.close();
    await store.close();
  });
  return { url };
}

/** Opens the status page, or with `path` a monitor on it. */
export const openStatus = (
  browser: Browser | undefined,
  at: { url: string },
  options: OpenOptions = {},
) => openPageIn(browser, at, { ...options, path: `/status${options.path ?? ''}` });

export const headline = (page: Page) => page.getByRole('heading', { level: 1 });
export const rows = (page: Page) => page.getByRole('list', { name: 'Monitors' }).locator('.row');
export const row = (page: Page, name: string) =>
  rows(page).filter({ has: page.getByRole('link', { name, exact: true }) });
export const names = (page: Page) => rows(page).locator('h2').allTextContents();
