import { expect, test } from 'vitest';
import { get, readStatus, reportAt } from '../helpers/console/test-status.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('a console without a bot shows the monitors of a remote service, publicly if configured', async () => {
  const service = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { ASKWATCH_ROLES: 'monitoring' },
  });
  const key = await service.createKey('monitoring');
  const made = await fetch(`${service.url}/api/v1/public/monitors`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ name: 'Backup', target: 'SECRETJOB', check_type: 'HEARTBEAT' }),
  });
  expect(made.status).toBe(201);
  const console = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      ASKWATCH_ROLES: 'console',
      MONITORING_BASE_URL: service.url,
      MONITORING_API_KEY: key,
      STATUS_PAGE_PUBLIC: 'true',
    },
  });
  const first = await fetch(console.url, { redirect: 'manual' });
  expect([first.status, first.headers.get('location')]).toEqual([303, '/status']);
  expect(await reportAt(console.url)).toMatchObject({
    overall: 'pending',
    monitors: [{ name: 'Backup', target: 'SECRETJOB' }],
  });
  const anyone = { host: 'status.example.com' };
  const page = await get(`${console.url}/status`, anyone);
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  const told = await get(`${console.url}/status.json`, anyone);
  expect(told.text).toContain('"name":"Backup"');
  expect(told.text).not.toContain('SECRETJOB');
  expect((await get(`${console.url}/account`, anyone)).status).not.toBe(200);
  const reader = await readStatus(console.url);
  expect(await console.stop()).toBe(0);
  expect(reader.report().monitors).toHaveLength(1);
});
