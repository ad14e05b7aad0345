import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { browser, inBrowser } from '../helpers/browser/in-browser.ts';
import { input, thread } from '../helpers/console/open-page.ts';
import { openPage, say } from '../helpers/console/open-playground.ts';
import { proposeMonitor } from '../helpers/console/propose-monitor.ts';
import { startTestConsole } from '../helpers/console/test-console.ts';
import { eventuallyEquals } from '../helpers/eventually-equals.ts';

const PASSWORD = 'correct horse battery';

async function statusOf({ isPublic = false } = {}) {
  const service = await startMonitoringService();
  onTestFinished(() => service.close());
  const { url, apiKey } = service;
  const monitoring = () => createMonitoringClient({ baseUrl: url, apiKey });
  return { monitoring, pollMs: 50, addressFor: () => 'http://askwatch.example', isPublic };
}

async function open(url: string, width = 1280): Promise<Page> {
  const context = await browser?.newContext({ viewport: { width, height: 800 } });
  if (!context) throw new Error('There is no browser.');
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  return page;
}

const pagesNav = (page: Page) => page.getByRole('navigation', { name: 'Pages' });

inBrowser('the frame of the pages', () => {
  test.each([1280, 390, 320])(
    'at %i px the head has the same parts in the same places on every page',
    async (width) => {
      const { url } = await startTestConsole({ status: await statusOf() });
      const page = await open(url, width);
      const seen: Record<string, unknown> = {};
      for (const path of ['/', '/status', '/account']) {
        await page.goto(url + path);
        await page.getByRole('main').first().waitFor();
        await page.evaluate('document.fonts.ready');
        const bar = page.getByRole('banner');
        seen[path] = [
          (await bar.boundingBox())?.height,
          await bar.locator('.mark').boundingBox(),
          await pagesNav(page).boundingBox(),
        ];
        expect(await pagesNav(page).getByRole('link').count()).toBe(3);
      }
      expect(seen['/status']).toEqual(seen['/']);
      expect(seen['/account']).toEqual(seen['/']);
      expect(await page.evaluate(() => document.fonts.check('14px Inter'))).toBe(true);
    },
  );

  test('help leads from every page to the command that lists all others', async () => {
    const { url } = await startTestConsole();
    const page = await open(`${url}/account`);
    await page.getByRole('link', { name: 'Help' }).click();
    await eventuallyEquals(() => input(page).inputValue(), '/askwatch help');
    expect(new URL(page.url()).search).toBe('');
    await input(page).fill('');
    await page.getByRole('link', { name: 'Help' }).click();
    await eventuallyEquals(() => input(page).inputValue(), '/askwatch help');
  });

  test('strangers see a public status page by its own name, with no way to the other pages', async () => {
    const { url } = await startTestConsole({
      login: { password: PASSWORD },
      status: await statusOf({ isPublic: true }),
    });
    expect(await (await fetch(`${url}/status`)).text()).not.toMatch(/Playground|Askwatch/);
    const page = await open(`${url}/status`);
    const logIn = page.getByRole('link', { name: 'Log in' });
    await logIn.waitFor();
    const live = page.getByText('Live', { exact: true });
    await live.waitFor();
    expect(await pagesNav(page).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Help' }).count()).toBe(0);
    expect(await page.title()).toBe('No monitors yet · Status');
    const [left, right] = [await live.boundingBox(), await logIn.boundingBox()];
    expect((right?.x ?? 0) - ((left?.x ?? 0) + (left?.width ?? 0))).toBeLessThan(20);

    await logIn.click();
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await pagesNav(page).getByRole('link', { name: 'Playground' }).waitFor();
    expect(await (await page.request.get(`${url}/status`)).text()).toContain('Playground');
  });
});

inBrowser('cards in the playground', () => {
  test('one button of a proposal stands out, and the safe one is last', async () => {
    const running = await startTestConsole();
    proposeMonitor(running.provider);
    const { page } = await openPage(running);
    await say(page, '/ask watch it');
    const buttons = thread(page).locator('.card .actions button');
    await buttons.first().waitFor();
    const looks = await buttons.evaluateAll((all) =>
      all.map((one) => [one.textContent, getComputedStyle(one).backgroundColor]),
    );
    expect(looks.map(([text]) => text)).toEqual(['Watch', 'Cancel']);
    const plain = looks.at(-1)?.[1];
    expect(looks.filter(([, ground]) => ground !== plain)).toHaveLength(1);
  });
});
