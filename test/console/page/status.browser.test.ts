import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { startBreakableProxy } from '../../helpers/console/breakable-proxy.ts';
import type { OpenOptions } from '../../helpers/console/open-page.ts';
import {
  headline,
  names,
  openStatus,
  row,
  startStatusPage,
} from '../../helpers/console/status-page.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const LOOKS = [
  { colorScheme: 'light' as const, width: 1280 },
  { colorScheme: 'dark' as const, width: 1280 },
  { colorScheme: 'light' as const, width: 320 },
  { colorScheme: 'dark' as const, width: 320 },
];

/** A service of the contract alone, and the page over it. */
async function startFake() {
  const fake = await startMonitoringService({ limit: false });
  const service = { url: fake.url, key: fake.apiKey };
  return { fake, running: await startStatusPage(service) };
}

const open = (at: { url: string }, options?: OpenOptions) => openStatus(browser, at, options);

const headlineSays = (page: Page, text: string) => headline(page).getByText(text).waitFor();

/** `/status`, `/status/events` and so on is what a test may hear the browser complain of when the wire is cut. */
const isNoCut = (complaint: string) => !/ERR_|Failed to load/.test(complaint);

/** Waits until a value no longer changes, because rows get their real height only near the window. */
async function settled(tell: () => Promise<number>): Promise<number> {
  const told: number[] = [];
  await eventually(async () => {
    told.push(await tell());
    const last = told.slice(-10);
    return last.length === 10 && last.every((one) => one === last[0]);
  });
  return told.at(-1) ?? Number.NaN;
}

inBrowser('the status page', () => {
  test('the page shows an outage and its end without a reload', async () => {
    const target = await startWebTarget();
    const service = await startService();
    await service.create({
      ...{ name: 'Shop', target: target.url, check_type: 'HTTP' },
      config: { interval_seconds: 10 },
    });
    const running = await startStatusPage(service, { pollMs: 1_000 });
    const { page, complaints } = await open(running);
    await headlineSays(page, 'The monitor is up');
    await eventuallyEquals(
      () => row(page, 'Shop').locator('.target').textContent(),
      expect.stringContaining(target.url),
    );
    await page.evaluate('window.stays = true');

    target.answerWith((_request, response) => response.writeHead(503).end());
    await headlineSays(page, 'The monitor is down');
    await row(page, 'Shop').getByText('Down', { exact: true }).waitFor();
    await row(page, 'Shop').locator('.reason', { hasText: '503' }).waitFor();
    await eventually(async () => (await page.title()) === 'The monitor is down · Status');

    target.answerWith((_request, response) => response.end('fine'));
    await headlineSays(page, 'The monitor is up');
    await eventuallyEquals(() => page.evaluate('window.stays'), true);
    expect(complaints).toEqual([]);
  });

  test('a monitor that goes down moves to the top, unless the mouse or the focus is in the list', async () => {
    const { fake, running } = await startFake();
    for (const name of ['Auth', 'Billing', 'Shop']) fake.add({ name });
    const { page, complaints } = await open(running);
    await headlineSays(page, 'All 3 monitors are up');
    fake.setStatus('mon_3', 'DOWN');
    await eventually(async () => (await names(page))[0] === 'Shop');

    await row(page, 'Auth').hover();
    fake.setStatus('mon_2', 'DOWN');
    await headlineSays(page, '2 of 3 are down');
    await row(page, 'Billing').getByText('Down', { exact: true }).waitFor();
    await eventuallyEquals(() => names(page), ['Shop', 'Auth', 'Billing']);
    await page.mouse.move(2, 2);
    await eventually(async () => (await names(page)).join() === 'Billing,Shop,Auth');

    const link = page.getByRole('link', { name: 'Auth' });
    await link.focus();
    fake.setStatus('mon_1', 'DOWN');
    await headlineSays(page, '3 of 3 are down');
    await eventuallyEquals(() => names(page), ['Billing', 'Shop', 'Auth']);
    await eventuallyEquals(() => link.evaluate((one) => one === document.activeElement), true);
    expect(complaints).toEqual([]);
    await fake.close();
  });

  test('visible rows keep their place when rows above come and go', async () => {
    const { fake, running } = await startFake();
    for (let at = 10; at < 60; at++) fake.add({ name: `Monitor ${at}` });
    const { page } = await open(running);
    await headlineSays(page, 'All 50 monitors are up');
    const read = row(page, 'Monitor 40');
    const topPx = () => read.evaluate((one) => Math.round(one.getBoundingClientRect().top));
    await read.evaluate((one) => {
      one.scrollIntoView({ block: 'start' });
      window.scrollBy(0, -10);
    });
    const before = await settled(topPx);
    const id = (number: number) => `mon_${number - 9}`;
    fake.setStatus(id(55), 'DOWN');
    await eventually(async () => (await names(page))[0] === 'Monitor 55');
    await eventually(async () => Math.abs((await topPx()) - before) <= 1);
    fake.setStatus(id(55), 'UP');
    await eventually(async () => (await names(page))[0] === 'Monitor 10');
    await eventually(async () => Math.abs((await topPx()) - before) <= 1);
    await fake.close();
  });

  test('the filters find monitors by name and status', async () => {
    const { fake, running } = await startFake();
    for (const name of ['Auth', 'Billing', 'Shop', 'Shop search', 'Mail']) {
      fake.add({ name, target: 'https://x.example' });
    }
    fake.add({ name: 'Slow', status: 'DEGRADED', target: 'slow.example' });
    fake.add({ name: 'Odd', status: 'Warning', target: 'odd.example' });
    const { page, complaints } = await open(running);
    await headlineSays(page, '2 of 7 are degraded');
    await eventuallyEquals(() => page.getByRole('searchbox').count(), 0);
    fake.add({ name: 'Broken shop', status: 'DOWN', target: 'https://x.example' });
    const search = page.getByRole('searchbox', { name: 'Find a monitor' });
    await search.fill('SHOP');
    await eventually(async () => (await names(page)).join() === 'Broken shop,Shop,Shop search');
    await page.getByRole('status').getByText('3 monitors shown').waitFor();
    const chip = (name: string) => page.getByRole('button', { name });
    await chip('Down 1').click();
    await eventuallyEquals(() => names(page), ['Broken shop']);
    await eventuallyEquals(() => chip('Down 1').getAttribute('aria-pressed'), 'true');
    await chip('Degraded 2').click();
    await page.getByText('No monitors match.').waitFor();
    await chip('Show all').click();
    await eventuallyEquals(async () => (await names(page)).length, 8);
    await row(page, 'Odd').getByText('Warning').waitFor();
    expect(complaints).toEqual([]);
    await fake.close();
  });

  test('an empty page explains how to add a monitor, and then shows the first one', async () => {
    const { fake, running } = await startFake();
    const { page, complaints } = await open(running);
    await headlineSays(page, 'No monitors yet');
    await page.locator('code', { hasText: '/monitor add https://example.com' }).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    fake.add({ name: 'First' });
    await headlineSays(page, 'The monitor is up');
    // A service of the contract alone keeps no history.
    await eventuallyEquals(() => row(page, 'First').getByRole('slider').count(), 0);
    await eventuallyEquals(() => row(page, 'First').locator('.row-facts').textContent(), '');
    expect(complaints).toEqual([]);
    await fake.close();
  });

  test('the page reports a lost connection and a silent service, and recovers', async () => {
    const { fake, running } = await startFake();
    fake.add({ name: 'Shop' });
    const wire = await startBreakableProxy(running.url);
    const { page, complaints } = await open({ url: wire.url });
    await row(page, 'Shop').waitFor();
    wire.cut();
    await page.getByText('Connection lost. Reconnecting…').waitFor();
    await row(page, 'Shop').waitFor();
    fake.setStatus('mon_1', 'DOWN');
    wire.mend();
    await page.getByText('Live', { exact: true }).waitFor();
    await headlineSays(page, 'The monitor is down');

    fake.failWith({ kind: 'status', status: 503 });
    await page.locator('.notice', { hasText: "The monitoring service isn't responding" }).waitFor();
    fake.recover();
    await page.locator('.notice').waitFor({ state: 'detached' });
    expect(complaints.filter(isNoCut)).toEqual([]);
    await fake.close();
  });

  test.each(long ? LOOKS : LOOKS.slice(-1))(
    'has no finding of axe and no sideways scroll, $colorScheme at $width px',
    async (one) => {
      const { colorScheme, width } = one;
      const { fake, running } = await startFake();
      const wide = 'W'.repeat(120);
      fake.add({ name: wide, target: `https://${wide}.example/`, status: 'DOWN' });
      fake.add({ name: 'Slow', status: 'DEGRADED' });
      for (const status of ['MAINTENANCE', 'PAUSED', 'PONDERING'.repeat(4)]) {
        fake.add({ name: status, status });
      }
      for (let at = 0; at < 5; at++) fake.add({ name: `Monitor ${at}` });
      const { page } = await open(running, { colorScheme, viewport: { width, height: 700 } });
      await headlineSays(page, '2 of 9 are down');
      expect(await findingsOf(page)).toEqual([]);
      await eventuallyEquals(() => page.evaluate('document.documentElement.scrollWidth'), width);
      await fake.close();
    },
  );
});
