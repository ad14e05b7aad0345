import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { messages, thread } from '../../helpers/console/open-page.ts';
import { openPage } from '../../helpers/console/open-playground.ts';
import { ALERTING, lookedAt, startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

/** A page that shows an alert. */
async function openWithAlert() {
  const running = await startTestConsole({
    settings: { ...ALERTING, alertPlaces: [{ platform: 'console', channel: 'general' }] },
  });
  const shop = running.service.add({ name: 'Shop' });
  await lookedAt(running.service);
  running.service.setStatus(shop.id, 'DOWN');
  const opened = await openPage(running);
  await messages(opened.page).getByText('Shop is down').waitFor();
  return { ...running, ...opened, shop };
}

inBrowser('buttons in the browser', () => {
  test('buttons are pressed by keyboard, and the change shows in every window', async () => {
    const { url, page, complaints } = await openWithAlert();
    const { page: other } = await openPage({ url });
    const acknowledge = messages(page).getByRole('button', { name: 'Acknowledge' });
    await messages(page).focus();
    for (let press = 0; press < 10; press++) {
      await page.keyboard.press('Tab');
      if (await acknowledge.evaluate((button) => button === document.activeElement)) break;
    }
    await page.keyboard.press('Enter');
    for (const window of [page, other]) {
      await messages(window).getByText('Guest 1 at the web console').waitFor();
      await eventuallyEquals(
        () => messages(window).getByRole('button', { name: 'Acknowledge' }).count(),
        0,
      );
      await eventuallyEquals(
        () => messages(window).getByRole('button', { name: 'Ask why' }).count(),
        1,
      );
    }
    await page.keyboard.press('Tab');
    await eventually(() =>
      page.evaluate(() => document.activeElement?.textContent === 'Snooze 1 h'),
    );
    await eventuallyEquals(() => thread(page).count(), 0);
    expect(complaints).toEqual([]);
  });

  test('Summarise offers a postmortem as a file to download', async () => {
    const { page, provider, service, shop, complaints } = await openWithAlert();
    service.setStatus(shop.id, 'UP');
    provider.answerWith('## Summary\n\nThe shop was away. <img src=x onerror=alert(1)>');
    await messages(page).getByRole('button', { name: 'Summarise' }).click();
    const link = thread(page).getByRole('link', { name: /^Download postmortem-/ });
    await link.waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toMatch(/^postmortem-[a-z\d]{8}-\d{4}-\d\d-\d\d\.md$/);
    const text = await readFile(await download.path(), 'utf8');
    expect(text).toMatch(
      /^# Postmortem draft: Shop recovered after .*\n\n## Summary\n\nThe shop was away\./,
    );
    expect(text).toContain('&lt;img src=x');
    expect(text).toContain('## Open questions');
    // A reload keeps it.
    await page.reload();
    await link.waitFor();
    expect(complaints).toEqual([]);
  });

  test('a press under way is not repeated, and a failed one shows the reason above the composer', async () => {
    const { page } = await openWithAlert();
    let asked = 0;
    let fail = () => {};
    const held = new Promise<void>((resolve) => {
      fail = resolve;
    });
    await page.route('**/console/presses', async (route) => {
      asked += 1;
      await held;
      await route.fulfill({
        status: 404,
        contentType: 'application/json',
        body: JSON.stringify({ error: { message: 'This message was deleted.' } }),
      });
    });
    const button = messages(page).getByRole('button', { name: 'Snooze 1 h' });
    await button.click();
    await messages(page).getByRole('button', { name: 'Snooze 1 h', disabled: true }).waitFor();
    await button.click({ force: true });
    fail();
    await page
      .locator('.channel')
      .getByRole('alert')
      .getByText('This message was deleted.')
      .waitFor();
    await messages(page).getByRole('button', { name: 'Snooze 1 h', disabled: false }).waitFor();
    expect(asked).toBe(1);
    await eventuallyEquals(() => button.evaluate((one) => one === document.activeElement), true);
    await page.unroute('**/console/presses');
    await button.click();
    await messages(page).getByText('Snoozed until').waitFor();
    await eventuallyEquals(() => page.getByRole('alert').count(), 0);
  });
});
