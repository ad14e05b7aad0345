import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { input, messages } from '../../helpers/console/open-page.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';

const PASSWORD = 'correct horse battery';
const login = { password: PASSWORD };

const LOOKS = [
  { dark: false, width: 1280 },
  { dark: true, width: 320 },
];

/** A browser of its own, with so many tabs at the address. */
async function openTabs(
  url: string,
  options: { tabs?: number; dark?: boolean; width?: number } = {},
) {
  if (!browser) throw new Error('There is no browser.');
  const { tabs = 1, dark = false, width = 1280 } = options;
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
  });
  onTestFinished(() => context.close());
  const pages: Page[] = [];
  const complaints: string[] = [];
  for (let count = 0; count < tabs; count += 1) {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(url);
    pages.push(page);
  }
  const [page] = pages;
  if (!page) throw new Error('There is no tab.');
  return { page, pages, complaints, context };
}

const password = (page: Page) => page.getByRole('textbox', { name: 'Password' });
const live = (page: Page) => page.getByText('Live', { exact: true });

async function logIn(page: Page) {
  await password(page).fill(PASSWORD);
  await password(page).press('Enter');
}

inBrowser('the login in the browser', () => {
  test('the login works by keyboard, explains a wrong password, and leads to the wanted page', async () => {
    const { url } = await startTestConsole({ login });
    const { page, complaints } = await openTabs(`${url}/?a=1#/general`);
    await password(page).waitFor();
    expect(new URL(page.url()).pathname).toBe('/login');
    await eventuallyEquals(
      () => password(page).evaluate((one) => one === document.activeElement),
      true,
    );

    await page.keyboard.type('a wrong password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Wrong password.').waitFor();
    await eventuallyEquals(() => password(page).getAttribute('aria-invalid'), 'true');
    // The wrong password is selected, so typing replaces it.
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await live(page).waitFor();
    expect(page.url()).toBe(`${url}/?a=1#/general`);
    // The browser logs the 401 itself.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  });

  test('the console works after a login under a custom host name over plain HTTP', async () => {
    const { url, provider } = await startTestConsole({ login });
    provider.answerWith('Because it is.');
    const { page, complaints } = await openTabs(url.replace('127.0.0.1', 'console.test'));
    await eventuallyEquals(() => page.evaluate(() => isSecureContext), false);
    await logIn(page);
    await input(page).fill('/ask why');
    await input(page).press('Enter');
    await page.getByText('Because it is.').first().waitFor();
    // Only over HTTPS does a browser heed this header, and says so.
    expect(complaints.filter((text) => !text.includes('Opener-Policy'))).toEqual([]);
  });

  test('the password field can be shown and suits password managers', async () => {
    const { url } = await startTestConsole({ login });
    const { page } = await openTabs(`${url}/login`);
    await password(page).fill(PASSWORD);
    const attributes = () =>
      page
        .locator('#password')
        .evaluate((one: HTMLInputElement) => [one.type, one.autocomplete, one.value]);
    await eventuallyEquals(() => attributes(), ['password', 'current-password', PASSWORD]);
    await page.getByRole('button', { name: 'Show the password' }).click();
    await eventuallyEquals(() => attributes(), ['text', 'current-password', PASSWORD]);
    await logIn(page);
    await live(page).waitFor();
  });

  test('the login page never opens another site', async () => {
    const { url } = await startTestConsole({ login });
    for (const to of ['//evil.example', 'javascript:window.hacked=1']) {
      const { page } = await openTabs(`${url}/login?to=${encodeURIComponent(to)}`);
      await logIn(page);
      await live(page).waitFor();
      expect(page.url()).toBe(`${url}/`);
      await eventuallyEquals(() => page.evaluate(() => 'hacked' in window), false);
    }
  });

  test('a logout in one tab logs out all tabs', async () => {
    const { url } = await startTestConsole({ login });
    const { page, context } = await openTabs(url);
    await logIn(page);
    await live(page).waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await live(other).waitFor();

    await page.getByRole('button', { name: 'Log out' }).press('Enter');
    for (const tab of [page, other]) await password(tab).waitFor();
    // The person stays with the browser, like the name of a guest.
    expect((await context.cookies()).map(({ name }) => name)).toEqual(['askwatch-person']);
    await logIn(other);
    await live(other).waitFor();
    await page.goBack();
    await page.goto(url);
    await live(page).waitFor();
  });

  test('a line sent after the session has ended waits in the composer until the login', async () => {
    const { url, sessions, ...running } = await startTestConsole({ login });
    const { page, context } = await openTabs(url);
    await logIn(page);
    await live(page).waitFor();
    await context.clearCookies();
    await input(page).fill('/ask why');
    await input(page).press('Enter');
    await logIn(page);
    await live(page).waitFor();
    await page.getByText('Your session had ended').waitFor();
    await eventuallyEquals(() => input(page).inputValue(), '/ask why');
    running.provider.answerWith('Because.');
    await input(page).press('Enter');
    await messages(page).getByText('1 reply').waitFor();
  });

  test('the status page and the account area lead to the login after a session, and back', async () => {
    const service = await startMonitoringService({ limit: false });
    onTestFinished(() => service.close());
    const monitoring = () =>
      createMonitoringClient({ baseUrl: service.url, apiKey: service.apiKey });
    const { url } = await startTestConsole({
      login,
      status: { monitoring, pollMs: 20, addressFor: () => '' },
    });
    const { page, context } = await openTabs(`${url}/status`);
    await logIn(page);
    await live(page).waitFor();
    const account = await context.newPage();
    await account.goto(`${url}/account`);
    await account.getByRole('button', { name: 'Log out' }).waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await other.getByRole('button', { name: 'Log out' }).click();

    await password(page).waitFor();
    await account.reload();
    await password(account).waitFor();
    for (const [tab, path] of [
      [page, '/status'],
      [account, '/account'],
    ] as const) {
      expect(new URL(tab.url()).searchParams.get('to')).toBe(path);
    }
    await logIn(page);
    await live(page).waitFor();
    expect(page.url()).toBe(`${url}/status`);
  });

  test('a link on another site opens the console for a logged-in browser', async () => {
    const { url } = await startTestConsole({ login });
    const { page } = await openTabs(`${url}/login`);
    await logIn(page);
    await live(page).waitFor();
    await page.goto('about:blank');
    await page.goto('data:text/html,<title>elsewhere</title>');
    await page.evaluate((to) => {
      const link = document.createElement('a');
      link.href = to;
      document.body.append(link);
      link.click();
    }, `${url}/?from=elsewhere#/general`);
    await live(page).waitFor();
    expect(page.url()).toBe(`${url}/?from=elsewhere#/general`);
  });

  test.each(long ? LOOKS : LOOKS.slice(-1))(
    'the login is accessible and fits the window: %j',
    async (options) => {
      const { url } = await startTestConsole({ login });
      const { page } = await openTabs(`${url}/login`, options);
      await password(page).fill('a wrong password');
      await password(page).press('Enter');
      await page.getByRole('alert').getByText('Wrong password.').waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width).toBeLessThanOrEqual(options.width);
      expect(await findingsOf(page)).toEqual([]);
    },
  );
});
