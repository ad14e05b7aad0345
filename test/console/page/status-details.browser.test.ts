import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { StatusIncident } from '../../../src/console/status/api-types.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { ATTACKS } from '../../helpers/console/attacks.ts';
import { HOUR_MS, madeUpMonitor, startMadeUpStatus } from '../../helpers/console/made-up-status.ts';
import type { OpenOptions } from '../../helpers/console/open-page.ts';
import { headline, openStatus, row } from '../../helpers/console/status-page.ts';
import { eventually } from '../../helpers/eventually.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';
import { long } from '../../helpers/long.ts';

const open = (at: { url: string }, options?: OpenOptions) => openStatus(browser, at, options);
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const chart = (page: Page) => page.getByRole('slider', { name: 'Response times' });

const incident = (id: string, given: Partial<StatusIncident> = {}): StatusIncident => ({
  ...{ id, monitor: 'mon_1', name: 'Monitor 1', started_at: ago(4 * HOUR_MS), outcome: 'timeout' },
  ...{ ended_at: ago(2 * HOUR_MS), cause: 'no answer within 10 s', ended_as: 'UP' },
  ...given,
});

const LOOKS = [
  { colorScheme: 'light' as const, width: 1280 },
  { colorScheme: 'dark' as const, width: 1280 },
  { colorScheme: 'dark' as const, width: 320 },
];

inBrowser('an opened monitor', () => {
  test('a monitor opens by keyboard, and going back restores the list', async () => {
    const monitors = Array.from({ length: 40 }, (_, at) => madeUpMonitor(at + 1));
    const running = await startMadeUpStatus({ monitors });
    const { page, complaints } = await open(running);
    const link = page.getByRole('link', { name: 'Monitor 30', exact: true });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Monitor 30' }).waitFor();
    expect(page.url()).toMatch(/\/status#\/mon_30$/);
    await eventually(() => headline(page).evaluate((one) => one === document.activeElement));
    await eventually(async () => (await page.title()) === 'Monitor 30 · Status');
    await eventuallyEquals(() => page.evaluate('scrollY'), 0);
    await page.goBack();
    await eventually(() => link.evaluate((one) => one === document.activeElement));
    await eventuallyEquals(
      () => link.evaluate((one) => one.getBoundingClientRect().top < innerHeight),
      true,
    );
    await eventually(async () => (await page.evaluate(() => scrollY)) > 0);
    await page.goForward();
    await page.getByRole('heading', { level: 1, name: 'Monitor 30' }).waitFor();
    await page.getByRole('link', { name: 'All monitors' }).click();
    await headline(page).getByText('All 40 monitors are up').waitFor();
    expect(complaints).toEqual([]);
  });

  test('the bars read each day by arrow keys and mouse, and all days in a sentence', async () => {
    const running = await startMadeUpStatus({ monitors: [madeUpMonitor(1)] });
    const { page } = await open(running);
    const bars = row(page, 'Monitor 1').getByRole('slider', { name: 'Days of Monitor 1' });
    const readout = row(page, 'Monitor 1').locator('.readout');
    await bars.focus();
    await readout.getByText('100 % up').waitFor();
    for (let step = 0; step < 20; step++) await page.keyboard.press('ArrowLeft');
    await readout.getByText('99.17 % up, down for 12 minutes').waitFor();
    await eventuallyEquals(
      () => bars.getAttribute('aria-valuetext'),
      expect.stringContaining('99.17 % up, down for 12 minutes'),
    );
    await page.keyboard.press('Home');
    await readout.getByText('no data').waitFor();
    await eventuallyEquals(() => bars.getAttribute('aria-valuenow'), '1');
    const { width = 0, height = 0 } = (await bars.boundingBox()) ?? {};
    await bars.hover({ position: { x: (30.5 / 90) * width, y: height / 2 } });
    await readout.getByText('25 % up, down for 18 hours').waitFor();
    const described = await bars.getAttribute('aria-describedby');
    await eventuallyEquals(
      () => page.locator(`[id="${described}"]`).textContent(),
      expect.stringMatching(/^Data for 80 of 90 days, down on 2\. Last: .*12 minutes\.$/),
    );
  });

  test('the chart shows gaps and outages, and reads each point by keyboard and mouse', async () => {
    const running = await startMadeUpStatus({ monitors: [madeUpMonitor(1)] });
    running.details.set('mon_1', { incidents: [incident('one')] });
    const { page, complaints } = await open(running, { path: '#/mon_1' });
    const outage = chart(page).locator('rect.down');
    await outage.waitFor();
    const { width: all = 0 } = (await chart(page).boundingBox()) ?? {};
    const { width: shaded = 0 } = (await outage.boundingBox()) ?? {};
    expect(shaded / all).toBeCloseTo(2 / 24, 1);
    // The made-up monitor was not checked for an hour.
    await eventuallyEquals(() => chart(page).locator('polyline').count(), 2);

    await chart(page).focus();
    const readout = chart(page).locator('.latency-readout');
    await readout.getByText('100 ms on average, 80 ms to 130 ms').waitFor();
    for (let step = 0; step < 5; step++) await page.keyboard.press('ArrowLeft');
    await readout.getByText('no data').waitFor();
    await eventuallyEquals(
      () => chart(page).getAttribute('aria-valuetext'),
      expect.stringContaining('no data'),
    );
    await chart(page).locator('.hints rect').nth(12).hover();
    await readout.getByText(/: 100 ms on average/).waitFor();

    await page.getByText('As a list').click();
    await eventuallyEquals(
      () => page.getByLabel('Response times, newest first').locator('li').count(),
      24,
    );
    await page.getByRole('button', { name: '7 days', exact: true }).click();
    await eventually(async () => (await chart(page).getAttribute('aria-valuemax')) === '168');
    expect(running.asked).toContain(168);
    expect(complaints).toEqual([]);
  });

  test('incidents are listed, and the clock of an ongoing one runs until it ends', async () => {
    const goesOn = incident('on', { started_at: ago(5_000), ended_at: null, ended_as: null });
    const down = madeUpMonitor(1, { status: 'DOWN', status_reason: 'no answer within 10 s' });
    const running = await startMadeUpStatus({ overall: 'down', monitors: [down] });
    const secret = incident('public', { outcome: 'connection_refused' });
    delete secret.cause;
    running.details.set('mon_1', { incidents: [goesOn, incident('over'), secret] });
    const { page } = await open(running, { path: '#/mon_1' });
    const incidents = panel(page, 'Incidents').getByRole('listitem');
    const counted = () => incidents.first().locator('.lasted').textContent();
    await incidents.first().getByText('so far').waitFor();
    const before = await counted();
    await eventually(async () => (await counted()) !== before);
    await eventuallyEquals(() => incidents.nth(1).locator('h3').textContent(), 'Down for 2 hours');
    await eventuallyEquals(
      () => incidents.nth(2).textContent(),
      expect.stringContaining('connection refused'),
    );

    running.details.set('mon_1', { incidents: [{ ...goesOn, ended_at: ago(0), ended_as: 'UP' }] });
    running.tell({ monitors: [madeUpMonitor(1, { status_changed_at: ago(0) })] });
    await page.locator('header strong', { hasText: 'Up' }).waitFor();
    await incidents.first().getByText('so far').waitFor({ state: 'detached' });
  });

  test('the facts show certificate, job and maintenance, and the badge can be copied', async () => {
    const monitors = [
      madeUpMonitor(1, { name: 'Shop [1](evil)' }),
      madeUpMonitor(2, { check_type: 'HEARTBEAT' }),
    ];
    const address = 'https://example.com/askwatch';
    const running = await startMadeUpStatus({ monitors }, address);
    const inDays = (days: number) =>
      new Date(Date.now() + (days + 0.5) * 24 * HOUR_MS).toISOString();
    running.details.set('mon_1', { certificate_ends_at: inDays(13), maintenance: ['Sundays'] });
    running.details.set('mon_2', {
      certificate_ends_at: inDays(14),
      latency: [],
      heartbeat: { expected: 'every day', last_signal_at: ago(5 * HOUR_MS) },
    });
    const { page } = await open(running, {
      path: '#/mon_1',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const facts = panel(page, 'Facts');
    await facts.locator('.warned', { hasText: 'expires in 13 days' }).waitFor();
    await facts.getByText('Sundays').waitFor();
    await facts.getByText('1 minute', { exact: true }).waitFor();
    await eventuallyEquals(
      () => panel(page, 'Uptime').locator('dd').allTextContents(),
      ['99.99 %', ...Array.from({ length: 3 }, () => 'No data')],
    );
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await eventuallyEquals(
      () => page.evaluate('navigator.clipboard.readText()'),
      `[![Shop 1evil](${address}/status/badge/mon_1.svg)](${address}/status#/mon_1)`,
    );
    await page.evaluate("location.hash = '#/mon_2'");
    await facts.getByText('expires in 14 days').waitFor();
    await eventuallyEquals(() => facts.locator('.warned').count(), 0);
    await facts.getByText('every day').waitFor();
    await facts.getByText('5 hours ago').waitFor();
    await eventuallyEquals(() => chart(page).count(), 0);
  });

  test('hostile reasons, causes and sentences appear as text', async () => {
    const hostile = { name: ATTACKS, status: ATTACKS, status_reason: ATTACKS, target: ATTACKS };
    const running = await startMadeUpStatus({
      ...{ overall: 'degraded', notice: ATTACKS },
      monitors: [madeUpMonitor(1, { ...hostile, check_type: ATTACKS })],
    });
    running.details.set('mon_1', {
      incidents: [incident('one', { cause: ATTACKS, outcome: ATTACKS, ended_as: ATTACKS })],
      maintenance: [ATTACKS],
      heartbeat: { expected: ATTACKS, last_signal_at: null },
    });
    const { page, complaints } = await open(running);
    await page.locator('.notice', { hasText: '<svg' }).waitFor();
    await page.locator('.row .reason', { hasText: '<script>' }).waitFor();
    await page.evaluate("location.hash = '#/mon_1'");
    await panel(page, 'Incidents').locator('.cause', { hasText: '<form' }).first().waitFor();
    await panel(page, 'Facts').getByText('<style>').first().waitFor();
    await page.locator('header .reason', { hasText: '<iframe' }).waitFor();
    const made = 'script, iframe, form, style, svg[onload], a[href^="javascript"], img[onerror]';
    await eventuallyEquals(() => page.locator('main').locator(made).count(), 0);
    await eventuallyEquals(() => page.evaluate('window.hacked'), undefined);
    expect(complaints).toEqual([]);
  });

  test('an unknown monitor and a failed request are reported', async () => {
    const running = await startMadeUpStatus({ monitors: [madeUpMonitor(1)] });
    const { page } = await open(running, { path: '#/mon_9' });
    await page.getByRole('heading', { name: 'Monitor not found' }).waitFor();
    running.refuse(true);
    await page.evaluate("location.hash = '#/mon_1'");
    await page.getByText('Askwatch answered with status 503. Trying again…').waitFor();
    running.refuse(false);
    await panel(page, 'Facts').waitFor();
    await eventuallyEquals(() => page.locator('.notice').count(), 0);
  });

  test('a service without history leaves no empty boxes', async () => {
    const { days: _days, uptime: _uptime, ...foreign } = madeUpMonitor(1);
    const running = await startMadeUpStatus({ monitors: [foreign, madeUpMonitor(2)] });
    for (const id of ['mon_1', 'mon_2']) running.details.set(id, { latency: [], uptime: [] });
    const { page } = await open(running, { path: '#/mon_1' });
    await panel(page, 'Facts').waitFor();
    const shown = () => page.locator('.panel h2').allTextContents();
    await eventuallyEquals(() => shown(), ['Facts', 'Embed']);
    await page.evaluate("location.hash = '#/mon_2'");
    await page.getByText('No response times in this period.').waitFor();
    await eventuallyEquals(
      () => shown(),
      [...['Last 90 days', 'Response times', 'Incidents', 'Facts', 'Embed']],
    );
  });

  test.each(long ? LOOKS : LOOKS.slice(-1))(
    'an opened monitor has no finding of axe and no sideways scroll, $colorScheme at $width px',
    async (one) => {
      const { colorScheme, width } = one;
      const wide = 'W'.repeat(100);
      const more = { stale: true, waiting_for_first_ping: true };
      const down = madeUpMonitor(1, { name: wide, target: wide, status: 'DOWN', ...more });
      const running = await startMadeUpStatus({ overall: 'down', monitors: [down] });
      running.details.set('mon_1', {
        incidents: [incident('on', { ended_at: null, cause: wide }), incident('over')],
        certificate_ends_at: ago(0),
        maintenance: [wide],
      });
      const viewport = { width, height: 700 };
      const { page } = await open(running, { path: '#/mon_1', colorScheme, viewport });
      await panel(page, 'Facts').waitFor();
      // In the list, and over it.
      await eventuallyEquals(() => page.getByText('Waiting for first ping').count(), 2);
      await page.getByText('As a list').click();
      await page.getByLabel('Response times, newest first').waitFor();
      expect(await findingsOf(page)).toEqual([]);
      await eventuallyEquals(() => page.evaluate('document.documentElement.scrollWidth'), width);
    },
  );
});
