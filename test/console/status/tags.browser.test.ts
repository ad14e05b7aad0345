import { expect, test } from 'vitest';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import type { OpenOptions } from '../../helpers/console/open-page.ts';
import {
  headline,
  names,
  openStatus,
  row,
  startStatusPage,
} from '../../helpers/console/status-page.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

/** A page over monitors with tags. */
async function open(options: OpenOptions = {}) {
  const fake = await startMonitoringService({ limit: false });
  fake.add({ name: 'Shop', tags: ['eu', 'web'] });
  fake.add({ name: 'Cart', tags: ['eu'], status: 'DOWN' });
  fake.add({ name: 'Mail', tags: ['us', 'w'.repeat(40)] });
  fake.add({ name: 'Blog' });
  const running = await startStatusPage({ url: fake.url, key: fake.apiKey });
  const { page, complaints } = await openStatus(browser, running, options);
  await headline(page).waitFor();
  const group = (name: string) => page.getByRole('button', { name });
  return { fake, page, complaints, group };
}

inBrowser('tags on the status page', () => {
  test('a group shows how it is, limits the page to its monitors, and is in the address', async () => {
    const { fake, page, complaints, group } = await open();
    await row(page, 'Shop').getByText('web', { exact: true }).waitFor();
    expect(await group('eu').textContent()).toBe('eu 1 of 2 up, 1 down');
    await group('eu').click();
    await headline(page).getByText('eu: 1 of 2 is down').waitFor();
    expect(await names(page)).toEqual(['Cart', 'Shop']);
    expect(page.url()).toMatch(/\/status\?tag=eu$/);
    await eventuallyEquals(() => page.title(), 'eu: 1 of 2 is down · Status');
    const json = page.getByRole('link', { name: 'JSON' });
    expect(await json.getAttribute('href')).toBe('/status.json?tag=eu');
    fake.setStatus('mon_2', 'UP');
    await headline(page).getByText('eu: All 2 monitors are up').waitFor();
    await row(page, 'Cart').getByRole('link').click();
    await page.getByText('eu', { exact: true }).last().waitFor();
    await page.getByRole('link', { name: 'All monitors' }).click();
    await eventuallyEquals(() => names(page), ['Cart', 'Shop']);
    await group('eu').click();
    await eventuallyEquals(async () => (await names(page)).length, 4);
    expect(page.url()).toMatch(/\/status(#\/)?$/);
    expect(complaints).toEqual([]);
    await fake.close();
  });

  test('an address with a tag that no monitor has says so, and leads back to all', async () => {
    const { fake, page } = await open({ path: '?tag=asia' });
    await page.getByText('No monitor is tagged asia.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await headline(page).getByText('1 of 4 is down').waitFor();
    await fake.close();
  });

  test('has no finding of axe and no sideways scroll on a narrow screen', async () => {
    const { fake, page, group } = await open({ viewport: { width: 320, height: 700 } });
    await group('us').click();
    expect(await findingsOf(page)).toEqual([]);
    await eventuallyEquals(() => page.evaluate('document.documentElement.scrollWidth'), 320);
    await fake.close();
  });
});
