import { expect, test } from 'vitest';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import {
  button,
  dialog,
  nameField,
  openAccountIn,
  rows,
} from '../../helpers/console/open-account.ts';
import { listKeys, startTestAccount } from '../../helpers/console/test-account.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('the rights of a new key in the account area', () => {
  test('a monitoring key only reads unless its box is ticked, which gateway keys do not have', async () => {
    const { url } = await startTestAccount({ hasMcp: true });
    const { page, complaints } = await openAccountIn(browser, url);
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

  test('a gateway key ignores a box that was ticked before its service was chosen', async () => {
    const { url } = await startTestAccount();
    const { page } = await openAccountIn(browser, url);
    await button(page, 'New key').click();
    await nameField(page).fill('chat');
    await page.getByText('Monitoring service', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Can change monitors' }).check();
    await page.getByText('Model gateway', { exact: true }).last().click();
    await button(page, 'Create key').click();
    await page.getByRole('group', { name: 'Key' }).waitFor();
    await eventuallyEquals(() => page.getByText('over MCP').count(), 0);
    const [made] = (await listKeys(url)).keys;
    expect(made?.service).toBe('gateway');
    expect(made).not.toHaveProperty('readOnly');
  });
});
