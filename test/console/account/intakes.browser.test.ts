import { expect, test } from 'vitest';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import {
  button,
  dialog,
  nameField,
  openAccountIn,
  rows,
} from '../../helpers/console/open-account.ts';
import { startTestAccount } from '../../helpers/console/test-account.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

inBrowser('intakes in the account area', () => {
  test('intakes are created, shown once, listed and removed', async () => {
    const { url } = await startTestAccount();
    const { page, complaints } = await openAccountIn(browser, url, '#intakes');
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
