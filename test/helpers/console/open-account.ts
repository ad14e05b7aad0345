import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

/** Opens a section in a context of its own; what the page complains about and asks of others is kept. */
export async function openAccountIn(
  browser: Browser | undefined,
  url: string,
  hash = '#keys',
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  if (!browser) throw new Error('There is no browser.');
  const context = await browser.newContext({
    ...{ viewport: { width: 1280, height: 800 }, ...options },
    permissions: ['clipboard-read', 'clipboard-write'],
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
  await page.goto(`${url}/account${hash}`);
  await page.getByText('Loading…').waitFor({ state: 'detached' });
  return { page, complaints };
}

export const dialog = (page: Page) => page.getByRole('dialog');
export const nameField = (page: Page) => page.getByRole('textbox', { name: 'Name' });
export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
export const rows = (page: Page) => page.locator('.rows > li');

/** Presses Tab until the target has the focus. */
export async function tabTo(page: Page, target: ReturnType<typeof button>) {
  for (let press = 0; press < 40; press++) {
    if (await target.evaluate((one) => one === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('The keyboard does not get there.');
}
