import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { inBrowser } from '../../helpers/browser/in-browser.ts';
import { holdRequests, messages, thread } from '../../helpers/console/open-page.ts';
import {
  hasFocus,
  openPage,
  say,
  sidewaysPx,
  tabTo,
} from '../../helpers/console/open-playground.ts';
import { proposeMonitor } from '../../helpers/console/propose-monitor.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';

/** A page whose reader was proposed to watch an address. */
async function openProposed(
  line: string,
  options?: Parameters<typeof openPage>[1],
  more?: Parameters<typeof proposeMonitor>[1],
) {
  const running = await startTestConsole();
  proposeMonitor(running.provider, more);
  const opened = await openPage(running, options);
  await say(opened.page, line);
  await opened.page.getByText('Watch example.com?').first().waitFor();
  return { ...running, ...opened };
}

const announcement = (page: Page) => page.locator('.playground > [role="status"]').textContent();
const titles = (page: Page) => thread(page).locator('.card .title').allTextContents();

/** The buttons under cards that take no press now. */
const waiting = (page: Page) =>
  page.locator('.card button[aria-disabled="true"]').allTextContents();

const LOOKS = [
  ['light', 1280],
  ['light', 320],
  ['dark', 1280],
  ['dark', 320],
] as const;

inBrowser('what an answer proposes, in the browser', () => {
  test('a proposal is confirmed by keyboard, waits for the reply, and every window shows the result', async () => {
    const { url, page, complaints, service } = await openProposed('/ask watch it');
    const { page: other } = await openPage({ url });
    await messages(other).getByText('2 replies').click();
    await eventuallyEquals(() => titles(other), ['Watch example.com?']);
    const goOn = await holdRequests(page, '**/console/presses');
    const watch = thread(page).getByRole('button', { name: 'Watch' });
    await tabTo(page, watch);
    await page.keyboard.press('Enter');
    await eventuallyEquals(() => waiting(page), ['Watch', 'Cancel']);
    await thread(page).getByRole('button', { name: 'Cancel' }).click({ force: true });
    expect(await hasFocus(thread(page).getByRole('button', { name: 'Cancel' }))).toBe(true);
    goOn();
    for (const window of [page, other]) {
      await eventuallyEquals(() => titles(window), ['Now watching example.com']);
      await thread(window).getByText('Confirmed by Guest 1 at the web console').waitFor();
      await eventuallyEquals(
        () => announcement(window),
        'Now watching example.com Alerts will be posted in this channel.',
      );
    }
    expect(service.monitors).toHaveLength(1);
    await page.reload();
    await eventuallyEquals(() => titles(page), ['Now watching example.com']);
    expect(complaints).toEqual([]);
  });

  test('a proposal shows the lines of a runbook as they will be stored', async () => {
    const runbook = '1. Look\n2. Call';
    const { page } = await openProposed('/ask watch it', {}, { runbook });
    const shown = thread(page).locator('dd', { hasText: '1. Look' });
    expect(await shown.innerText()).toBe(runbook);
  });

  test.each(long ? LOOKS : LOOKS.slice(-1))(
    'a proposal looks like other cards, in %s at %d px',
    async (colorScheme, width) => {
      const viewport = { width, height: 800 };
      const { page } = await openProposed('/ask watch it', { colorScheme, viewport });
      await thread(page).getByRole('button', { name: 'Good answer' }).waitFor();
      await thread(page).getByLabel('Message to the thread').fill('/monitor list');
      await page.keyboard.press('Enter');
      await eventuallyEquals(() => thread(page).locator('.card').count(), 2);
      const [own, listed] = await thread(page)
        .locator('.card')
        .evaluateAll((cards) => cards.map((card) => card.getBoundingClientRect()));
      expect([own?.left, own?.width]).toEqual([listed?.left, listed?.width]);
      expect(await sidewaysPx(page)).toBe(0);
      expect(await findingsOf(page)).toEqual([]);
      await thread(page).getByRole('button', { name: 'Watch' }).click();
      await thread(page).getByText('Confirmed by Guest 1').waitFor();
      expect(await sidewaysPx(page)).toBe(0);
    },
  );
});
