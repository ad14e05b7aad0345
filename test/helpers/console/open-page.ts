import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { TestConsole } from './test-console.ts';

export type OpenOptions = BrowserContextOptions & { path?: string };

/** Opens the page in a context of its own; what it asks of other servers and what it complains about is kept. */
export async function openPageIn(
  browser: Browser | undefined,
  { url }: Pick<TestConsole, 'url'>,
  options: OpenOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  if (!browser) throw new Error('There is no browser.');
  const { path = '/', ...forContext } = options;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    ...forContext,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url + path);
  await page.getByText('Live', { exact: true }).waitFor();
  return { page, complaints };
}

/** Holds what a page asks of such addresses, from now until the function that it resolves to is called. */
export async function holdRequests(page: Page, addresses: string): Promise<() => void> {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await page.route(addresses, async (route) => {
    await held;
    await route.continue();
  });
  return goOn;
}

export const input = (page: Page, channel = 'general') =>
  page.getByLabel(`Message to ${channel}`, { exact: true });
export const threadInput = (page: Page) => page.getByLabel('Message to the thread');
export const thread = (page: Page) => page.getByRole('complementary', { name: 'Thread' });
export const messages = (page: Page) => page.getByLabel('Messages', { exact: true });
export const form = (page: Page) => page.getByRole('dialog');
export const inputOfForm = (page: Page, name: string) => form(page).getByLabel(name);
