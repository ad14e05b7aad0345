import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import {
  button,
  dialog,
  nameField,
  openAccountIn,
  rows,
} from '../../helpers/console/open-account.ts';
import {
  listKeys,
  makeKey,
  startTestAccount,
  writeAccount,
} from '../../helpers/console/test-account.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

const openAccount = (url: string, hash?: string, options?: BrowserContextOptions) =>
  openAccountIn(browser, url, hash, options);

inBrowser('keys and intakes in the account area', () => {
  test('a key is shown exactly once, copied by a click, and works with the example beside it', async () => {
    const { url, chat } = await startTestAccount();
    const { page, complaints } = await openAccount(url);
    await page.getByText('No keys yet').waitFor();
    await button(page, 'New key').click();
    await nameField(page).fill('laptop');
    await page.getByLabel('Requests per minute').fill('1,000');
    await button(page, 'Create key').click();
    const shown = page.getByRole('group', { name: 'Key' });
    const key = (await shown.locator('code').textContent()) ?? '';
    await shown.getByRole('button', { name: 'Copy' }).click();
    await shown.getByText('Copied').waitFor();
    await eventuallyEquals(() => page.evaluate(() => navigator.clipboard.readText()), key);
    const example = page.getByRole('group', { name: 'Example' });
    await example.getByText('"model": "fast-8k"').waitFor();
    const curl = (await example.locator('pre').textContent()) ?? '';
    expect(curl).toContain(`curl ${url}/v1/chat/completions`);
    expect(curl).toContain(`Bearer ${key}`);
    expect((await chat(key)).object).toBe('chat.completion');

    // Escape is not how to lose it.
    await page.keyboard.press('Escape');
    await eventuallyEquals(() => shown.isVisible(), true);
    await button(page, /^Done/).click();
    await dialog(page).waitFor({ state: 'detached' });
    await eventually(async () => !(await page.content()).includes(key));
    await page.reload();
    await rows(page).getByText('laptop').waitFor();
    await rows(page).getByText('1,000 requests/min').waitFor();
    await eventually(async () => !(await page.content()).includes(key));
    expect(complaints).toEqual([]);
  });

  test('a double click makes one key', async () => {
    const { url } = await startTestAccount();
    const { page, complaints } = await openAccount(url);
    await button(page, 'New key').click();
    await nameField(page).fill('twice');
    await page.getByText('Monitoring service', { exact: true }).click();
    await eventuallyEquals(() => page.getByLabel('Requests per minute').count(), 0);
    // Both in one turn of the page, before it can be drawn again.
    await button(page, 'Create key').evaluate((one: HTMLButtonElement) => {
      one.click();
      one.click();
    });
    const shown = page.getByRole('group', { name: 'Key' });
    await eventuallyEquals(
      () => shown.locator('code').textContent(),
      expect.stringMatching(/^awm_/),
    );
    await page.getByText('X-API-Key: awm_').waitFor();
    expect((await listKeys(url)).keys).toHaveLength(1);
    // Browsers send this event when they keep a page to go back to.
    await page.evaluate(() => dispatchEvent(new Event('pagehide')));
    await shown.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  test('the form names a key whose answer was lost, and can create another one', async () => {
    const { url } = await startTestAccount();
    const { page } = await openAccount(url);
    await page.route('**/account/keys', async (route) => {
      if (route.request().method() !== 'POST') return await route.continue();
      await route.fetch();
      await route.abort();
      await page.unroute('**/account/keys');
    });
    await button(page, 'New key').click();
    await nameField(page).fill('lost');
    await button(page, 'Create key').click();
    await page.getByRole('alert').getByText("Can't reach Askwatch").waitFor();
    const [lost] = (await listKeys(url)).keys;
    await button(page, 'Create key').click();
    await page.getByRole('alert').getByText(`revoke ${lost?.id} and create another`).waitFor();
    await eventuallyEquals(() => nameField(page).inputValue(), 'lost');
    await button(page, 'Create key').click();
    await page.getByRole('group', { name: 'Key' }).waitFor();
    expect((await listKeys(url)).keys).toHaveLength(2);
  });

  test('the end of a session keeps what was typed', async () => {
    const password = 'correct horse battery';
    const { url, keys } = await startTestAccount({ password });
    const { page } = await openAccount(url);
    const logIn = async (where: Page) => {
      await where.getByRole('textbox', { name: 'Password' }).fill(password);
      await where.getByRole('textbox', { name: 'Password' }).press('Enter');
      await button(where, 'New key').waitFor();
    };
    await logIn(page);
    await button(page, 'New key').click();
    await nameField(page).fill('typed');
    await page.context().clearCookies();
    await button(page, 'Create key').click();
    await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    expect(keys.gateway.list()).toEqual([]);
    const other = await page.context().newPage();
    await other.goto(`${url}/account`);
    await logIn(other);
    await button(page, 'Create key').click();
    await page.getByRole('group', { name: 'Key' }).waitFor();
    expect(keys.gateway.list().map(({ name }) => name)).toEqual(['typed']);

    await page.context().clearCookies();
    await other.getByRole('link', { name: 'Usage' }).click();
    await other.getByRole('textbox', { name: 'Password' }).waitFor();
    expect(new URL(other.url()).pathname).toBe('/login');
  });

  test('invalid input is marked in place and stays', async () => {
    const { url } = await startTestAccount();
    const { page } = await openAccount(url);
    await button(page, 'New key').click();
    await page.getByLabel('Tokens per day').fill('many');
    await button(page, 'Create key').click();
    await page.getByText('Enter a name').waitFor();
    await page.getByText('Enter a whole number of 1 or more').waitFor();
    await eventuallyEquals(() => page.getByLabel('Tokens per day').inputValue(), 'many');
    await eventuallyEquals(
      () => page.getByLabel('Tokens per day').getAttribute('aria-invalid'),
      'true',
    );
    expect((await listKeys(url)).keys).toEqual([]);
  });

  test('limits can be changed and removed, and a refusal appears next to the input', async () => {
    const { url } = await startTestAccount();
    const { made } = await makeKey(url, { limits: { requestsPerMinute: 5 } });
    const { page } = await openAccount(url);
    await button(page, 'Limits of laptop').click();
    await eventuallyEquals(() => page.getByLabel('Requests per minute').inputValue(), '5');
    await page.getByLabel('Requests per minute').fill('');
    await page.getByLabel('Tokens per month').fill('7000');
    await button(page, 'Save limits').click();
    await page.getByText('Limits of “laptop” changed.').waitFor();
    await rows(page).getByText('7,000 tokens/month').waitFor();
    expect((await listKeys(url)).keys[0]?.limits).toEqual({ tokensPerMonth: 7000 });

    await button(page, 'Limits of laptop').click();
    await page.getByLabel('Tokens per month').fill('8000');
    await writeAccount(url, `keys/gateway/${made.id}/revoke`, {});
    await button(page, 'Save limits').click();
    await page.getByRole('alert').getByText(`No key ${made.id}`).waitFor();
    await eventuallyEquals(() => page.getByLabel('Tokens per month').inputValue(), '8000');
  });

  test('a key is revoked only after a confirmation with its name', async () => {
    const { url, chat } = await startTestAccount();
    const { key } = await makeKey(url);
    const { page, complaints } = await openAccount(url);
    await button(page, 'Revoke laptop').click();
    await dialog(page).getByRole('heading', { name: 'Revoke “laptop”?' }).waitFor();
    await button(page, 'Cancel').click();
    await chat(key);
    await button(page, 'Revoke laptop').click();
    await button(page, 'Revoke key').click();
    await page.getByText('Key “laptop” revoked. It no longer works.').waitFor();
    await page.getByText('No keys yet').waitFor();
    await expect(chat(key)).rejects.toThrow(/401/);
    await eventually(() => page.evaluate(() => document.activeElement?.textContent === 'API keys'));
    expect(complaints).toEqual([]);
  });

  test('a monitoring key is read-only unless its box is checked', async () => {
    const { url } = await startTestAccount({ hasMcp: true });
    const { page, complaints } = await openAccount(url);
    await button(page, 'New key').click();
    await nameField(page).fill('assistant');
    const box = page.getByRole('checkbox', { name: 'Can change monitors' });
    await eventuallyEquals(() => box.count(), 0);
    await page.getByText('Monitoring service', { exact: true }).click();
    expect(await box.isChecked()).toBe(false);
    await button(page, 'Create key').click();
    const key = await page.getByRole('group', { name: 'Key' }).locator('code').textContent();
    const lines = page.getByRole('group', { name: 'Assistant configuration' });
    expect(JSON.parse((await lines.locator('pre').textContent()) ?? '')).toEqual({
      mcpServers: {
        askwatch: {
          type: 'http',
          url: `${url}/mcp`,
          headers: { Authorization: `Bearer ${key}` },
        },
      },
    });
    expect((await listKeys(url)).keys).toMatchObject([{ name: 'assistant', readOnly: true }]);
    await button(page, /^Done/).click();
    await dialog(page).waitFor({ state: 'detached' });
    await rows(page).getByText('Read-only').waitFor();

    await button(page, 'New key').click();
    await nameField(page).fill('deploy job');
    await page.getByText('Monitoring service', { exact: true }).last().click();
    await box.check();
    await button(page, 'Create key').click();
    await button(page, /^Done/).click();
    await eventually(async () => (await listKeys(url)).keys.length === 2);
    const made = (await listKeys(url)).keys.find(({ name }) => name === 'deploy job');
    expect(made).not.toHaveProperty('readOnly');
    expect(complaints).toEqual([]);
  });

  test('intakes are created, shown once, listed and removed', async () => {
    const { url } = await startTestAccount();
    const { page, complaints } = await openAccount(url, '#intakes');
    await page.getByText('No intakes yet').waitFor();
    await button(page, 'New intake').click();
    await page.getByRole('combobox', { name: 'System' }).selectOption('PagerDuty events');
    await page.getByRole('combobox', { name: 'Channel' }).selectOption('console:general');
    await nameField(page).fill('On call');
    await button(page, 'Create intake').click();
    const lines = dialog(page).locator('pre');
    await lines.first().waitFor();
    expect(await lines.allTextContents()).toEqual([
      'https://askwatch.example/v2/enqueue',
      expect.stringMatching(/^[A-Za-z0-9]{32}$/),
    ]);
    await page.keyboard.press('Escape');
    expect(await dialog(page).count()).toBe(1);
    await button(page, /^Done/).click();
    await dialog(page).waitFor({ state: 'detached' });
    await rows(page).getByText('On call').waitFor();
    await rows(page).getByText('Never').waitFor();
    await button(page, 'Remove On call').click();
    await button(page, 'Remove intake').click();
    await page.getByText('Its address no longer works').waitFor();
    await eventuallyEquals(() => rows(page).count(), 0);
    expect(complaints).toEqual([]);
  });
});
