import { describe, expect, test } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { ATTACKS } from '../../helpers/console/attacks.ts';
import { readStatus, reportAt, startStatus } from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';

async function bareService() {
  return await startMonitoringService({ limit: false });
}

describe('the status page over a service of the contract alone', () => {
  test('the report lists monitors by urgency, paused ones last', async () => {
    const service = await bareService();
    service.add({ name: 'zebra' });
    service.add({ name: 'Apple' });
    service.add({ name: 'slow', status: 'DEGRADED' });
    service.add({ name: 'asleep', status: 'PAUSED' });
    service.add({ name: 'window', status: 'MAINTENANCE' });
    service.add({ name: 'shop', status: 'down', target: 'https://ada:secret@shop.example/' });
    const { url } = await startStatus(service);
    const report = await reportAt(url);
    expect(report).toMatchObject({ public: false, overall: 'down' });
    expect(report.notice).toBeUndefined();
    expect(report.monitors.map(({ name }) => name)).toEqual([
      'shop',
      'slow',
      'Apple',
      'zebra',
      'window',
      'asleep',
    ]);
    expect(report.monitors[0]).toEqual({
      id: 'mon_6',
      name: 'shop',
      check_type: 'HTTP',
      status: 'down',
      target: 'https://shop.example/',
    });
    await service.close();
  });

  test('all readers receive a change, and nothing else', async () => {
    const service = await bareService();
    for (let i = 1; i <= 500; i++) service.add({ name: `monitor ${i}` });
    const { url } = await startStatus(service);
    const readers = await Promise.all([readStatus(url), readStatus(url), readStatus(url)]);
    for (const reader of readers) {
      expect(reader.heard.map(({ kind }) => kind)).toEqual(['report']);
      expect(reader.report()).toMatchObject({ overall: 'up' });
      expect(reader.report().monitors).toHaveLength(500);
    }
    service.setStatus('mon_250', 'DOWN');
    for (const reader of readers) {
      await eventually(() => reader.report().overall === 'down');
      expect(reader.report().monitors[0]).toMatchObject({ id: 'mon_250', status: 'DOWN' });
      const [, changed] = reader.heard;
      expect(changed).toMatchObject({ kind: 'changed', monitors: [{ id: 'mon_250' }] });
      expect(reader.report()).toEqual({
        ...(await reportAt(url)),
        generated_at: reader.report().generated_at,
      });
    }
    service.add({ name: 'new' });
    service.monitors.splice(0, 1);
    const [reader] = readers;
    await eventually(() => reader?.report().monitors.some(({ name }) => name === 'new'));
    await eventually(() => !reader?.report().monitors.some(({ id }) => id === 'mon_1'));
    await service.close();
  });

  test('all waiting requests share one poll', async () => {
    const service = await bareService();
    service.add({ name: 'shop' });
    service.failWith({ kind: 'hang' }, 1);
    const { url } = await startStatus(service, {
      pollMs: 60_000,
      monitoring: () =>
        createMonitoringClient({ baseUrl: service.url, apiKey: service.apiKey, timeoutMs: 2_000 }),
    });
    const reports = await Promise.all(Array.from({ length: 20 }, () => reportAt(url)));
    for (const report of reports) expect(report.overall).toBe('unknown');
    expect(service.requests).toHaveLength(1);
    await service.close();
  });

  test('the last list stays with a notice while the service is away', async () => {
    const service = await bareService();
    service.add({ name: 'shop' });
    const { url } = await startStatus(service);
    const reader = await readStatus(url);
    service.failWith({ kind: 'status', status: 500 });
    await eventually(() => reader.report().notice);
    expect(reader.report()).toMatchObject({ overall: 'up', monitors: [{ name: 'shop' }] });
    expect(reader.report().notice).toMatch(
      /^The monitoring service isn't responding\. .* reported at /,
    );
    service.setStatus('mon_1', 'DOWN');
    service.recover();
    await eventually(() => reader.report().overall === 'down');
    expect(reader.report().notice).toBeUndefined();
    await service.close();
  });

  test('members are shown which rows are invalid', async () => {
    const service = await bareService();
    service.add({ name: 'shop' });
    const rows = [{ id: ATTACKS, status: 'DOWN' }, { name: 'nameless' }];
    service.failWith({ kind: 'odd-rows', rows });
    const { url } = await startStatus(service);
    const reader = await readStatus(url);
    const { notice, monitors, overall } = reader.report();
    expect(notice).toMatch(
      /^The monitoring service returned monitors that don't match its contract\. .* are shown\. 2 rows: "/,
    );
    expect(notice).toContain('number 2 (');
    expect(notice?.length).toBeLessThan(500);
    expect(monitors).toHaveLength(2);
    expect(overall).toBe('down');
    service.recover();
    await eventually(() => reader.report().notice === undefined);
    await service.close();
  });

  test('the state is unknown if the service never answered', async () => {
    const service = await bareService();
    service.failWith({ kind: 'html' });
    const { url } = await startStatus(service);
    const report = await reportAt(url);
    expect(report).toMatchObject({ overall: 'unknown', monitors: [] });
    expect(report.notice).toContain("isn't responding");
    await service.close();
  });
});
