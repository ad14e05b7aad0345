import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { encodeAction } from '../../../src/bot/shared/card.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { form, inputOfForm, type OpenOptions } from '../../helpers/console/open-page.ts';
import { hasFocus, sidewaysPx, tabTo } from '../../helpers/console/open-playground.ts';
import { openStatus } from '../../helpers/console/status-page.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const PASSWORD = 'a password of the console';

/** The page of a monitor of the real service, in a console with a bot. */
async function openMonitor(options: OpenOptions & { isPublic?: boolean } = {}) {
  const { isPublic = false, ...opened } = options;
  const service = await startService();
  const target = 'http://127.0.0.1:9/';
  const { id } = await service.create({ name: 'Shop', check_type: 'HTTP', target });
  const monitoring = () => createMonitoringClient({ baseUrl: service.url, apiKey: service.key });
  const running = await startTestConsole({
    watched: service,
    status: { monitoring, pollMs: 60_000, addressFor: () => '', isPublic },
    ...(isPublic && { login: { password: PASSWORD } }),
  });
  const { page, complaints } = await openStatus(browser, running, { ...opened, path: `#/${id}` });
  await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();
  const stored = async () => (await service.get(`/api/v1/public/monitors/${id}`)).body;
  return { ...running, id, service, page, complaints, stored };
}

const button = (page: Page, name: string) =>
  page.getByRole('group', { name: 'Manage this monitor' }).getByRole('button', { name });
const says = (page: Page, text: string) =>
  page.getByRole('status').filter({ hasText: text }).waitFor();
const facts = (page: Page) => page.getByRole('region', { name: 'Facts' });

inBrowser('buttons on the page of a monitor', () => {
  test('a monitor is edited by keyboard, with the settings of today in the form', async () => {
    const { page, complaints, stored } = await openMonitor();
    await tabTo(page, button(page, 'Edit'));
    await page.keyboard.press('Enter');
    await form(page).getByRole('heading', { name: 'Change a monitor' }).waitFor();
    await eventuallyEquals(() => inputOfForm(page, 'Interval').inputValue(), '1m');
    expect(await form(page).getByRole('textbox').count()).toBe(6);
    await inputOfForm(page, 'Interval').fill('soon');
    await page.keyboard.press('Enter');
    await form(page).getByText("I didn't understand “soon”").waitFor();
    await inputOfForm(page, 'Interval').fill('5m');
    await inputOfForm(page, 'Name').fill('Shop EU');
    await page.keyboard.press('Enter');
    await says(page, 'Shop EU was changed');
    await eventually(() => hasFocus(button(page, 'Edit')));
    await page.getByRole('heading', { level: 1, name: 'Shop EU' }).waitFor();
    await facts(page).getByText('5 minutes').waitFor();
    expect(await stored()).toMatchObject({ name: 'Shop EU', config: { interval_seconds: 300 } });
    expect(complaints).toEqual([]);
  });

  test('a monitor is paused and resumed, and a form plans maintenance for it', async () => {
    const { page, stored } = await openMonitor();
    await button(page, 'Pause').click();
    await says(page, 'Shop is paused');
    await button(page, 'Resume').click();
    await says(page, 'Shop resumed');
    await button(page, 'Pause').waitFor();
    await button(page, 'Maintenance').click();
    await inputOfForm(page, 'When').fill('now for 30m');
    expect(await form(page).getByRole('textbox').count()).toBe(2);
    await page.keyboard.press('Enter');
    await says(page, 'Maintenance planned: Shop');
    expect((await stored()).maintenance).toHaveLength(1);
  });

  test('a monitor is removed only after a confirmation', async () => {
    const { page, service, complaints } = await openMonitor();
    await button(page, 'Remove').click();
    await form(page).getByText('Remove Shop?').waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await form(page).getByRole('button', { name: 'Cancel' }).click();
    await form(page).waitFor({ state: 'detached' });
    await eventually(() => hasFocus(button(page, 'Remove')));
    expect(await service.list()).toHaveLength(1);
    await button(page, 'Remove').click();
    await form(page).getByRole('button', { name: 'Remove' }).click();
    await says(page, 'Shop was removed');
    await page.getByRole('heading', { name: 'Monitor not found' }).waitFor();
    expect(await service.list()).toEqual([]);
    // Browsers complain about a 404.
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
  });

  test('strangers of a public page see no buttons, and the server refuses them', async () => {
    const { page, url, id } = await openMonitor({ isPublic: true });
    await facts(page).waitFor();
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
    const action = encodeAction({ label: '', command: 'monitor pause', values: { monitor: id } });
    const body = { id: randomUUID(), channel: 'general', message: 'm1', private: true, action };
    const response = await fetch(`${url}/console/presses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(401);
  });

  test.each([
    { colorScheme: 'light' as const, width: 1280 },
    { colorScheme: 'dark' as const, width: 320 },
  ])('buttons and forms are accessible and fit the window: %j', async ({ width, ...look }) => {
    const { page } = await openMonitor({ ...look, viewport: { width, height: 800 } });
    await button(page, 'Pause').click();
    await says(page, 'Shop is paused');
    expect(await findingsOf(page)).toEqual([]);
    expect(await sidewaysPx(page)).toBeLessThanOrEqual(0);
    await button(page, 'Edit').click();
    await form(page).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    expect(await sidewaysPx(page)).toBeLessThanOrEqual(0);
  });
});
