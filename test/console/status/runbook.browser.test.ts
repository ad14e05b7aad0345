import { expect, test } from 'vitest';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { openStatus, row, startStatusPage } from '../../helpers/console/status-page.ts';
import { startService } from '../../helpers/monitoring/service.ts';

inBrowser('runbooks on the status page', () => {
  test('a monitor shows the address of its runbook as a link, and a text as text', async () => {
    const service = await startService();
    const text = `1. <b>Look</b>\n2. ${'call '.repeat(200)}`;
    for (const [name, runbook] of [
      ['Shop', 'https://wiki.example/shop'],
      ['Mail', text],
    ]) {
      await service.create({ name, check_type: 'HEARTBEAT', target: 'job', runbook });
    }
    const running = await startStatusPage(service);
    const { page, complaints } = await openStatus(browser, running, {
      viewport: { width: 320, height: 700 },
    });
    await row(page, 'Shop').getByRole('link').click();
    const link = page.getByRole('link', { name: 'https://wiki.example/shop' });
    expect(await link.getAttribute('href')).toBe('https://wiki.example/shop');
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    await page.getByRole('link', { name: 'All monitors' }).click();
    await row(page, 'Mail').getByRole('link').click();
    const shown = page.getByText('1. <b>Look</b>');
    expect(await shown.textContent()).toBe(text.trim());
    expect(await findingsOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    expect(complaints).toEqual([]);
  });
});
