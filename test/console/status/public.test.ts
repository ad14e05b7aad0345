import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { StatusDetails } from '../../../src/console/status/api-types.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import {
  firstEventAs,
  get,
  readStatus,
  reportAt,
  startStatus,
} from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

/** Asks as somebody does who reached the page under its public name. */
const AS_ANYONE = { host: 'status.example.com' };

/** Reads all public addresses under a foreign host name. */
async function toldToAnyone(url: string, id: string): Promise<Record<string, string>> {
  const told: Record<string, string> = {};
  for (const path of [
    '/status.json',
    `/status/monitors/${id}`,
    `/status/monitors/${id}?hours=168`,
    `/status/monitors/${id}?hours=2160`,
    '/status/badge.svg',
    `/status/badge/${id}.svg`,
    '/status/feed.xml',
  ]) {
    const { status, text } = await get(url + path, AS_ANYONE);
    if (status !== 200) throw new Error(`${path} ${status}: ${text}`);
    told[path] = text;
  }
  return told;
}

describe('a public status page', () => {
  test('a public page hides targets, reasons and causes', async () => {
    const target = await startWebTarget();
    const service = await startService();
    const secrets = [
      'SECRETPATH',
      'SECRETQUERY',
      'SECRETHEADER',
      'SECRETBODY',
      'SECRETWINDOW',
      new URL(target.url).host,
      'SECRETJOB',
      'SECRETRUNBOOK',
    ];
    const site = await service.create({
      name: 'Shop',
      check_type: 'HTTP',
      target: `${target.url}/SECRETPATH?key=SECRETQUERY`,
      runbook: 'https://wiki.example/SECRETRUNBOOK',
      config: {
        confirm_down: 1,
        method: 'POST',
        body: 'SECRETBODY',
        headers: { 'x-shop-key': 'SECRETHEADER' },
      },
    });
    const job = await service.create({ name: 'Job', check_type: 'HEARTBEAT', target: 'SECRETJOB' });
    secrets.push(job.push_url?.split('/').at(-1) ?? 'no push token');
    await service.call('PUT', `/api/v1/public/monitors/${job.id}/maintenance`, {
      json: { windows: [{ cron: '0 3 * * *', duration_minutes: 5, reason: 'SECRETWINDOW' }] },
    });
    await target.stop();
    await service.call('POST', `/api/v1/public/monitors/${site.id}/check`);
    const { url } = await startStatus(
      { url: service.url, apiKey: service.key },
      { isPublic: true, pollMs: 500 },
    );
    const member = await eventually(async () => {
      const report = await reportAt(url);
      return report.monitors[0]?.status === 'DOWN' && report;
    });
    expect(member.monitors[0]?.target).toContain('SECRETPATH');
    expect(member.monitors[0]?.status_reason).toContain(new URL(target.url).host);
    const heard = await firstEventAs(url, AS_ANYONE);
    const told: Record<string, string> = {
      ...(await toldToAnyone(url, site.id)),
      ...(await toldToAnyone(url, job.id)),
      events: heard,
    };
    expect(told['/status.json']).toContain('"name":"Shop"');
    expect(told['/status/feed.xml']).toContain('Shop is down');
    for (const [path, text] of Object.entries(told)) {
      for (const secret of secrets) expect(text, path).not.toContain(secret);
      expect(text, path).not.toMatch(/127\.0\.0\.1|"target"|"status_reason"|"cause"|"runbook"/);
    }
    // Members see everything, also on a public page.
    const own = await get(`${url}/status/monitors/${site.id}`, {});
    const details = StatusDetails.strict().parse(JSON.parse(own.text));
    expect(details.incidents[0]?.cause).toContain(new URL(target.url).host);
    expect(details.runbook?.url).toBe('https://wiki.example/SECRETRUNBOOK');
    expect((await get(`${url}/status/feed.xml`, {})).text).toContain(new URL(target.url).host);
  });

  test('a public page hides names that are addresses', async () => {
    const service = await startMonitoringService({ limit: false });
    const names = [
      '127.0.0.1:5432',
      'db.corp.example',
      'db:6379',
      '[::1]:80',
      'https://a/b',
      'Shop v2.1',
    ];
    for (const name of names) service.add({ name });
    const { url } = await startStatus(service, { isPublic: true });
    const { text } = await get(`${url}/status.json`, AS_ANYONE);
    const shown = (JSON.parse(text) as { monitors: Array<{ name: string }> }).monitors;
    expect(shown.map(({ name }) => name.replace(/ \w{4}$/, ' 1234')).sort()).toEqual([
      'Shop v2.1',
      ...Array.from({ length: 5 }, () => 'Unnamed monitor 1234'),
    ]);
    const own = await get(`${url}/status.json`, {});
    for (const name of names) expect(own.text).toContain(name);
    await service.close();
  });

  test('a public page hides which rows are invalid', async () => {
    const service = await startMonitoringService({ limit: false });
    service.add({ name: 'Blog' });
    service.failWith({ kind: 'odd-rows', rows: [{ id: 'secret', name: 'Shop' }] });
    const { url } = await startStatus(service, { isPublic: true });
    expect((await reportAt(url)).notice).toContain('"secret" (');
    const { text } = await get(`${url}/status.json`, AS_ANYONE);
    expect(JSON.parse(text)).not.toHaveProperty('notice');
    expect(text).not.toContain('secret');
    await service.close();
  });

  test('a public page hides why the service is unreachable', async () => {
    const service = await startMonitoringService({ limit: false });
    const { url } = await startStatus(service, { isPublic: true });
    await service.close();
    expect((await reportAt(url)).notice).toContain(service.url);
    const { text } = await get(`${url}/status.json`, AS_ANYONE);
    expect(text).toContain("isn't responding");
    expect(text).not.toContain('127.0.0.1');
    const feed = await get(`${url}/status/feed.xml`, AS_ANYONE);
    expect(feed.status).toBe(502);
    expect(feed.text).not.toContain('127.0.0.1');
  });

  test('one address cannot use up the streams of a public page', async () => {
    const service = await startMonitoringService({ limit: false });
    const { url } = await startStatus(service, { isPublic: true, pollMs: 60_000 });
    const open = async (headers: Record<string, string>) => {
      const asked = request(`${url}/status/events`, { headers });
      onTestFinished(() => void asked.destroy());
      asked.end();
      const [{ statusCode }] = (await once(asked, 'response')) as [IncomingMessage];
      return statusCode;
    };
    const statuses = await Promise.all(Array.from({ length: 60 }, () => open(AS_ANYONE)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(50);
    expect(statuses.filter((status) => status === 503)).toHaveLength(10);
    // Members aren't limited.
    expect(await open({})).toBe(200);
    await service.close();
  });

  test('a public page limits strangers by address', async () => {
    const service = await startMonitoringService({ limit: false });
    const { url } = await startStatus(service, { isPublic: true, pollMs: 60_000 });
    const ask = () => get(`${url}/status/badge.svg`, AS_ANYONE);
    let answer = await ask();
    expect(answer.headers['x-ratelimit-limit']).toBe('300');
    for (let asked = 1; answer.status === 200 && asked < 400; asked += 1) answer = await ask();
    expect(answer.status).toBe(429);
    expect(answer.headers['retry-after']).toBeDefined();
    expect((await get(`${url}/status/badge.svg`, {})).status).toBe(200);
    await service.close();
  });
});

test('a private status page answers no other host name', async () => {
  const service = await startMonitoringService({ limit: false });
  const { id } = service.add({ name: 'shop' });
  const { url } = await startStatus(service);
  for (const path of [
    '/status.json',
    '/status/events',
    `/status/monitors/${id}`,
    '/status/badge.svg',
    `/status/badge/${id}.svg`,
    '/status/feed.xml',
  ]) {
    expect((await get(url + path, AS_ANYONE)).status, path).toBe(403);
  }
  const own = await readStatus(url);
  expect(own.report().public).toBe(false);
  await service.close();
});
