import { expect, onTestFinished, test } from 'vitest';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { madeUpMonitor, startMadeUpStatus } from '../../helpers/console/made-up-status.ts';
import { holdRequests } from '../../helpers/console/open-page.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

inBrowser('what a page shows before its script runs', () => {
  test.each(
    [1280, 700].flatMap((width) => [
      { width, path: '/', drawn: 'general' },
      { width, path: '/status', drawn: 'Monitor 1' },
      { width, path: '/account', drawn: 'Usage' },
    ]),
  )('at $width px, on $path, is its head, and the script goes on there', async (shown) => {
    const { width, path, drawn } = shown;
    const { url } = await (path === '/status'
      ? startMadeUpStatus({ monitors: [madeUpMonitor(1)] })
      : startTestConsole());
    const context = await browser?.newContext({ viewport: { width, height: 800 } });
    if (!context) throw new Error('There is no browser.');
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    const goOn = await holdRequests(page, '**/console/*.js*');
    await page.goto(url + path, { waitUntil: 'commit' });
    const head = page.getByRole('banner');
    const nav = page.getByRole('navigation', { name: 'Pages' });
    const painted = `performance.getEntriesByName('first-contentful-paint').length`;
    await eventually(async () => (await page.evaluate<number>(painted)) === 1, {
      what: 'the first paint',
    });
    await head.getByText('Askwatch', { exact: true }).waitFor();
    expect(await nav.getByRole('link').count()).toBe(3);
    const first = await head.elementHandle();
    const box = await head.boundingBox();
    const more = page.getByRole('main').getByText(drawn);
    expect(await more.count()).toBe(0);
    goOn();
    await more.first().waitFor();
    expect(await first?.evaluate((one) => one.isConnected)).toBe(true);
    expect([await head.count(), await head.boundingBox()]).toEqual([1, box]);
    expect(faults).toEqual([]);
  });
});
