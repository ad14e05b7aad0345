import { expect, test } from 'vitest';
import { startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { storedText } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';
const job = (more: object) => ({ name: 'Shop', check_type: 'HEARTBEAT', target: 'job', ...more });

test('a create and a change set the runbook, which outlives a restart until an empty text removes it', async () => {
  const folder = await temporaryFolder();
  const service = await startService({ folder });
  const address = 'https://wiki.example/shop';
  const { id } = await service.create(job({ runbook: address }));
  const path = `${MONITORS}/${id}`;
  expect(await service.list()).toMatchObject([{ id, runbook: address }]);
  const renamed = await service.call('PATCH', path, { json: { name: 'Store' } });
  expect(renamed.body).toMatchObject({ name: 'Store', runbook: address });
  const runbook = '1. Look at the queue\n\n2. Restart the workers';
  await service.call('PATCH', path, { json: { runbook: `${runbook}\r\n` } });
  await service.close();

  const restarted = await startService({ folder });
  expect((await restarted.call('GET', path)).body.runbook).toBe(runbook);
  const emptied = await restarted.call('PATCH', path, { json: { runbook: ' ' } });
  expect(emptied.status).toBe(200);
  expect(emptied.body).not.toHaveProperty('runbook');
  expect((await restarted.list())[0]).not.toHaveProperty('runbook');
});

test('the list and its changes show the beginning of a text on one line, and the details all of it', async () => {
  const service = await startService();
  const list = await service.call('GET', MONITORS);
  const runbook = Array.from({ length: 300 }, (_, at) => `Step ${at}`).join('\n');
  const { id } = await service.create(job({ runbook }));
  const [listed] = await service.list();
  expect(listed?.runbook).toHaveLength(200);
  expect(listed?.runbook).toMatch(/^Step 0 Step 1 .* …$/);
  const cursor = String(list.headers['x-monitors-cursor']);
  const changes = await service.call('GET', `${MONITORS}/changes?after=${cursor}`);
  expect(changes.body.monitors).toMatchObject([{ id, runbook: listed?.runbook }]);
  expect((await service.call('GET', `${MONITORS}/${id}`)).body.runbook).toBe(runbook);
});

test('a runbook has at most 4,096 bytes of UTF-8', async () => {
  const service = await startService();
  await service.create(job({ runbook: 'ü'.repeat(2_048) }));
  const longer = await service.call('POST', MONITORS, {
    json: job({ runbook: 'ü'.repeat(2_049) }),
  });
  expect(longer.status).toBe(400);
  expect(longer.body.error).toMatchObject({ param: 'runbook' });
  expect(longer.body.error?.message).toContain('at most 4096 bytes');
  const huge = await service.call('POST', MONITORS, {
    json: job({ runbook: 'x'.repeat(200_000) }),
  });
  expect(huge.body.error?.message).toContain('at most 4096 bytes');
  expect(await service.list()).toHaveLength(1);
});

test.each([1, null, ['https://wiki.example'], { url: 'https://wiki.example' }])(
  'answers 400 for the runbook %j and shows an example',
  async (runbook) => {
    const service = await startService();
    const answer = await service.call('POST', MONITORS, { json: job({ runbook }) });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ param: 'runbook' });
    expect(answer.body.error?.message).toContain('such as https://wiki.example.com/shop');
  },
);

test('no secret of an address and no hidden character of a runbook is stored or shown', async () => {
  const folder = await temporaryFolder();
  const service = await startService({ folder });
  const runbook = 'Open https://ops:hunter2@wiki.example/?token=swordfish\u0000\n\u202eand read';
  const { id } = await service.create(job({ runbook }));
  expect((await service.call('GET', `${MONITORS}/${id}`)).body.runbook).toBe(
    'Open https://…@wiki.example/?token=…\nand read',
  );
  await service.close();
  const stored = await storedText(folder);
  expect(stored).toContain('wiki.example');
  expect(stored).not.toMatch(/hunter2|swordfish/);
});
