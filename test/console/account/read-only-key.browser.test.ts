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
  test('a monitoring key is read-only unless its box is checked', async () => {
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
});
