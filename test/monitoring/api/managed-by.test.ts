import { expect, test } from 'vitest';
import { cardOf, startTestBot, textOf } from '../../helpers/bot.ts';
import { folderWithDeclared } from '../../helpers/monitoring/declared.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const MONITORS = '/api/v1/public/monitors';
const MANAGED = { file: 'monitors.yaml', line: 12, key: 'shop' };

/** A file that is not there changes nothing. */
const MISSING = '/nowhere/monitors.yaml';

const withShop = (managedBy: typeof MANAGED & { leftAtMs?: number } = MANAGED) =>
  folderWithDeclared({
    mon_shop: {
      monitor: { name: 'Shop', target: 'http://127.0.0.1:9/', check_type: 'HTTP' },
      maintenance: [],
      channels: ['slack:C9'],
      managedBy,
    },
  });

const EDITS: Array<[what: string, method: string, path: string, json?: object]> = [
  ['a change', 'PATCH', '', { name: 'Store' }],
  ['a removal', 'DELETE', ''],
  ['a pause', 'POST', '/pause'],
  ['a resume', 'POST', '/resume'],
  ['maintenance windows', 'PUT', '/maintenance', { windows: [] }],
];

test('a declared monitor refuses every change and names file and line', async () => {
  const service = await startService({ folder: await withShop(), monitorsFile: MISSING });
  const [before] = await service.list();
  for (const [what, method, path, json] of EDITS) {
    const answer = await service.call(method, `${MONITORS}/mon_shop${path}`, { json });
    expect(answer.status, what).toBe(409);
    expect(answer.body.error).toMatchObject({
      code: 'conflict',
      message:
        'This monitor is declared in monitors.yaml, line 12, as shop, and can only be changed there. Nothing was changed here.',
    });
    const [after] = await service.list();
    expect(after, what).toMatchObject({
      name: before?.name,
      managed_by: MANAGED,
      channels: ['slack:C9'],
    });
    expect(after?.status, what).not.toBe('PAUSED');
  }
});

test('a declared monitor keeps the windows of its file when others are planned for several, and that is told', async () => {
  const service = await startService({ folder: await withShop(), monitorsFile: MISSING });
  const other = await service.create({ name: 'Cart', target: 'cart', check_type: 'HEARTBEAT' });
  const window = { starts_at: '2998-12-01T22:00', timezone: 'UTC', duration_minutes: 5 };
  const json = { monitors: ['mon_shop', other.id], window };
  const { body } = await service.call('POST', '/api/v1/public/maintenance', { json });
  expect(body).toEqual({ planned: [other.id], full: [], declared: ['mon_shop'], missing: [] });
  expect((await service.get(`${MONITORS}/mon_shop`)).body.maintenance).toEqual([]);
  const { bot } = await startTestBot({ watched: service });
  const reply = await bot.dispatch({
    id: 'declared:1',
    request: { line: '/monitor maintenance Shop now for 30m' },
    place: { platform: 'slack', channel: 'C9' },
    person: { id: 'U9', name: 'Grace', mayManage: async () => true },
  });
  expect(textOf(cardOf(reply))).toContain(
    '1 monitor not changed: their maintenance is declared in a file, such as Shop in monitors.yaml, line 12. Change it there.',
  );
});

test('a declared monitor that no file declares any more takes windows as others do', async () => {
  const service = await startService({ folder: await withShop() });
  const window = { starts_at: '2998-12-01T22:00', timezone: 'UTC', duration_minutes: 5 };
  const json = { monitors: ['mon_shop'], window };
  const { body } = await service.call('POST', '/api/v1/public/maintenance', { json });
  expect(body).toMatchObject({ planned: ['mon_shop'] });
  expect((await service.get(`${MONITORS}/mon_shop`)).body).not.toHaveProperty('managed_by');
});

test('a declared monitor can be checked at once, and shows where it is declared', async () => {
  const service = await startService({ folder: await withShop(), monitorsFile: MISSING });
  expect((await service.call('POST', `${MONITORS}/mon_shop/check`)).status).toBe(200);
  const { body } = await service.get(`${MONITORS}/mon_shop`);
  expect(body).toMatchObject({ managed_by: MANAGED, channels: ['slack:C9'] });
});

test('a declared monitor says until when it is kept once it has left the file', async () => {
  const folder = await withShop({ ...MANAGED, leftAtMs: Date.parse('2026-12-01T10:00:00Z') });
  const service = await startService({ folder, monitorsFile: MISSING });
  const [listed] = await service.list();
  expect(listed?.managed_by).toEqual({ ...MANAGED, left_at: '2026-12-01T10:00:00.000Z' });
  const answer = await service.call('POST', `${MONITORS}/mon_shop/resume`);
  expect([answer.status, answer.body.error?.message]).toEqual([
    409,
    'This monitor was declared in monitors.yaml as shop, but is no longer there. It is paused, and will be removed 24 hours after it left the file. To keep it, put it back into the file. Nothing was changed here.',
  ]);
});

test('a declared monitor is as every other where no file is followed any more, also after a restart', async () => {
  const folder = await withShop();
  const service = await startService({ folder });
  const path = `${MONITORS}/mon_shop`;
  const changed = await service.call('PATCH', path, { json: { name: 'Store' } });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({ name: 'Store', channels: ['slack:C9'] });
  expect(changed.body).not.toHaveProperty('managed_by');
  await service.close();
  const again = await startService({ folder, monitorsFile: MISSING });
  expect((await again.call('POST', `${path}/pause`)).status).toBe(200);
  expect((await again.call('DELETE', path)).status).toBe(204);
});

test('a declared monitor is left as it is by a command in a chat, which says where it is changed', async () => {
  const service = await startService({ folder: await withShop(), monitorsFile: MISSING });
  const { say } = await startTestBot({ watched: service });
  const person = { id: 'U1', name: 'Ada', mayManage: async () => true };
  const text = textOf(cardOf(await say('/monitor pause Shop', { person })));
  expect(text).toContain('declared in monitors.yaml, line 12, as shop');
  const [listed] = await service.list();
  expect(listed?.status).not.toBe('PAUSED');
});
