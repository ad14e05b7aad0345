import type { BrowserContextOptions } from 'playwright-core';
import { expect, test } from 'vitest';
import { readAnswer } from '../../helpers/bot.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import {
  button,
  dialog,
  nameField,
  openAccountIn,
  rows,
  tabTo,
} from '../../helpers/console/open-account.ts';
import { listKeys, makeKey, startTestAccount } from '../../helpers/console/test-account.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';

const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202e"';

const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 320 },
  { colorScheme: 'dark', width: 320 },
] as const;

const openAccount = (url: string, hash?: string, options?: BrowserContextOptions) =>
  openAccountIn(browser, url, hash, options);

inBrowser('the account area in the browser', () => {
  test('the account area works by keyboard, and dialogs return the focus', async () => {
    const { url } = await startTestAccount();
    const { page } = await openAccount(url);
    await tabTo(page, button(page, 'New key'));
    await page.keyboard.press('Enter');
    await nameField(page).waitFor();
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Key' }).waitFor();
    await tabTo(page, button(page, /^Done/));
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    await eventuallyEquals(
      () => button(page, 'New key').evaluate((one) => one === document.activeElement),
      true,
    );
    await tabTo(page, button(page, 'Revoke by keyboard'));
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    expect((await listKeys(url)).keys).toHaveLength(1);
    await tabTo(page, page.getByRole('link', { name: 'Usage' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await tabTo(page, page.getByRole('radio', { name: '30 days' }));
    await page.keyboard.press('ArrowRight');
    await eventuallyEquals(() => page.getByRole('radio', { name: '90 days' }).isChecked(), true);
  });

  test('a real call appears in the usage chart and its table', async () => {
    const { url, chat } = await startTestAccount();
    const { page, complaints } = await openAccount(url, '#usage');
    await page.getByText('No requests in this period').waitFor();
    const { key } = await makeKey(url);
    const { usage } = await chat(key);
    const tokens = String(usage?.total_tokens);
    await eventually(async () => {
      await page.reload();
      await page.getByText('Loading…').waitFor({ state: 'detached' });
      return await page.locator('.legend').isVisible();
    });
    await page.locator('.legend').getByText('fast-8k').waitFor();
    await page.locator('.legend').getByText(tokens).waitFor();
    const chart = page.getByRole('img');
    await eventuallyEquals(
      () => chart.getAttribute('aria-label'),
      expect.stringContaining(`${tokens} tokens in 30 days`),
    );
    await page.getByRole('radio', { name: 'By key' }).check();
    await page.locator('.legend').getByText('laptop').waitFor();
    await page.getByRole('radio', { name: 'Requests' }).check();
    await eventually(async () =>
      (await chart.getAttribute('aria-label'))?.startsWith('1 requests in 30 days'),
    );
    await page.getByText('Show the chart as a table').click();
    const table = page.getByRole('region', { name: 'requests by day and key' });
    await eventuallyEquals(() => table.getByRole('row').last().locator('td').textContent(), '1');
    const bar = chart.locator('rect[style]');
    await eventuallyEquals(() => bar.count(), 1);
    await chart.locator('.hints rect').last().hover();
    await page.locator('.pointer').getByText('laptop').waitFor();
    expect(complaints).toEqual([]);
  });

  test('the catalog can be searched, filtered and sorted, with image models apart', async () => {
    const { url } = await startTestAccount();
    const { page, complaints } = await openAccount(url, '#models');
    const names = () => page.locator('.rows').first().locator('h3 .name').allTextContents();
    await eventuallyEquals(async () => (await names()).length, 9);
    await page.getByLabel('Order').selectOption('Fastest first');
    await eventuallyEquals(async () => (await names())[0], 'fast-8k');
    await page.getByLabel('Order').selectOption('Best first');
    await eventuallyEquals(async () => (await names())[0], 'long-200k-best');
    await page.getByLabel('Accepts images').check();
    await eventuallyEquals(() => names(), ['vision-16k']);
    await page.getByLabel('Find').fill('nothing like this');
    await page.getByText('No models match').waitFor();
    await page.getByLabel('Find').fill('IMAGES');
    await eventuallyEquals(() => names(), ['vision-16k']);
    const images = page.getByRole('heading', { name: 'Image models' });
    await images.waitFor();
    await page.getByText('1024 × 1024').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('the use of channels is listed, and hostile names appear as text', async () => {
    const { url, say, bot } = await startTestAccount();
    await readAnswer(await say('/ask one'), 'T1');
    const invocation = {
      ...{ id: 'hostile', request: { line: '/ask two' } },
      place: { platform: 'slack' as const, channel: 'C1' },
      person: { id: 'U6', name: HOSTILE },
    };
    await readAnswer(await bot.dispatch(invocation), 'T2');
    await makeKey(url, { name: HOSTILE });
    const { page, complaints } = await openAccount(url, '#channels');
    await rows(page).locator('bdi', { hasText: 'general' }).first().waitFor();
    await rows(page).filter({ hasText: 'Slack' }).locator('summary').click();
    await page.getByRole('rowheader').getByText(HOSTILE).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Look-ups' }).count()).toBe(0);
    await readAnswer(await say('/ask what is down?'), 'T1');
    await page.reload();
    await page.locator('summary', { hasText: '1 look-up' }).click();
    const counted = page.getByRole('region', { name: 'By model' }).filter({ visible: true });
    await counted.getByRole('row', { name: 'rules, no model 2 0 1 0' }).waitFor();
    await page.goto(`${url}/account#keys`);
    await page.getByRole('heading').getByText(HOSTILE).waitFor();
    await button(page, /^Revoke/).click();
    await dialog(page).getByRole('heading').getByText(HOSTILE).waitFor();
    await eventuallyEquals(() => page.evaluate('window.hacked'), undefined);
    expect(complaints).toEqual([]);
  });

  test('missing services and failed requests are explained in a sentence', async () => {
    const { url, provider } = await startTestAccount({ without: ['gateway'], asksElsewhere: true });
    const { page } = await openAccount(url);
    await page.getByText("The model gateway doesn't run in this process").waitFor();
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByText('Its usage is counted where it runs').waitFor();
    await provider.close();
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('alert').getByText('The model gateway cannot be reached.').waitFor();
    await button(page, 'Try again').waitFor();
  });

  test.each(long ? LOOKS : LOOKS.slice(-1))(
    'the account area has no finding of axe and fits the window: %j',
    async (look) => {
      const { url, chat, say } = await startTestAccount();
      const { key } = await makeKey(url, { name: 'x'.repeat(100), limits: { tokensPerDay: 9e6 } });
      await makeKey(url, { service: 'monitoring', name: 'other' });
      await chat(key);
      await readAnswer(await say('/ask one'), 'T1');
      // Rules look it up.
      await readAnswer(await say('/ask what is down?'), 'T1');
      const { colorScheme, width } = look;
      const { page } = await openAccount(url, '#keys', {
        ...{ colorScheme, viewport: { width, height: 700 } },
      });
      const findings: Record<string, string[]> = {};
      async function lookAt(at: string) {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        findings[at] = [...(await findingsOf(page)), ...(wide > width ? [`${wide} px wide`] : [])];
      }
      for (const section of ['Keys', 'Usage', 'Models', 'Channels']) {
        await page.getByRole('link', { name: section, exact: true }).click();
        await page.locator(`h2:text-is("${section === 'Keys' ? 'API keys' : section}")`).waitFor();
        await page.locator('.rows, .usage-chart svg').first().waitFor();
        for (const closed of await page.locator('summary').all()) await closed.click();
        await lookAt(section);
      }
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await button(page, 'New key').click();
      await button(page, 'Create key').click();
      await lookAt('new key');
      await nameField(page).fill('axe');
      await button(page, 'Create key').click();
      await page.getByRole('group', { name: 'Key' }).waitFor();
      await lookAt('made key');
      await button(page, /^Done/).click();
      await button(page, 'Revoke other').click();
      await lookAt('revoke');
      expect(findings).toEqual({
        ...{ Keys: [], Usage: [], Models: [], Channels: [] },
        ...{ 'new key': [], 'made key': [], revoke: [] },
      });
    },
  );
});
