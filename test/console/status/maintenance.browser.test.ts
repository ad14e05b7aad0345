import { expect, test } from 'vitest';
import { findingsOf } from '../../helpers/browser/axe.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { openStatus, startStatusPage } from '../../helpers/console/status-page.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const PLANNED = '/api/v1/public/maintenance';

inBrowser('maintenance on the status page', () => {
  test('maintenance appears above the monitors, planned and ongoing', async () => {
    const service = await startService();
    const ids: string[] = [];
    for (const name of ['Shop', '<b>Cart</b>']) {
      ids.push((await service.create({ name, check_type: 'HEARTBEAT', target: name })).id);
    }
    const plan = (monitors: string[], window: object | null) =>
      service.call('POST', PLANNED, { json: { monitors, window } });
    const running = await startStatusPage(service);
    const { page, complaints } = await openStatus(browser, running, {
      viewport: { width: 320, height: 700 },
    });
    const shown = page.getByRole('region', { name: 'Maintenance' });
    const lines = () => shown.getByRole('listitem').allTextContents();
    await page.getByRole('list', { name: 'Monitors' }).waitFor();
    expect(await shown.count()).toBe(0);

    await plan([ids[0] ?? ''], {
      ...{ weekly: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from: '02:00' },
      ...{ timezone: 'Europe/Berlin', duration_minutes: 120, reason: 'updates' },
    });
    await shown.waitFor();
    expect(await lines()).toEqual([
      expect.stringMatching(
        /^(Planned maintenance: Shop, \w{3} \d+ \w{3} 02:00–|Maintenance: Shop, until )04:00 \(Europe\/Berlin\)updates$/,
      ),
    ]);

    const now = {
      starts_at: new Date(Date.now() - 60_000),
      ends_at: new Date(Date.now() + 600_000),
    };
    await plan(ids, now);
    await eventually(async () => (await lines()).length === 2);
    expect((await lines()).join('\n')).toMatch(
      /^Maintenance: <b>Cart<\/b>, Shop, until .* \(UTC\)$/m,
    );
    expect(await findingsOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);

    await plan(ids, null);
    await eventually(async () => (await shown.count()) === 0);
    expect(complaints).toEqual([]);
  });
});
