import { expect, test } from 'vitest';
import { monitorAdd } from '../../../../src/bot/commands/monitor/add.ts';
import type { Card } from '../../../../src/bot/shared/card.ts';
import type { Person } from '../../../../src/bot/shared/place.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };
const ADDRESS = 'https://wiki.example/shop';

/** A bot over the real service with one monitor. */
async function start(runbook?: string) {
  const service = await startService();
  const target = 'http://127.0.0.1:9/';
  const { id } = await service.create({ name: 'Shop', check_type: 'HTTP', target, runbook });
  const { bot, say, press } = await startTestBot({ watched: service });
  return {
    send: async (line: string) => cardOf(await say(line, { person: admin })),
    press: (card: Card, label: string) => press(card, label, { person: admin }),
    told: async (line: string) => textOf(cardOf(await say(line, { person: admin }))),
    stored: async (at = id) => (await service.get(`/api/v1/public/monitors/${at}`)).body.runbook,
    newest: async () => (await service.list()).at(-1)?.id,
    openForm: () =>
      bot.formOfPress({ command: 'monitor change', values: { monitor: id } }, async () => ({
        place: { platform: 'fake', channel: 'C1' },
        person: admin,
      })),
  };
}

test('/monitor add stores a runbook, also of a monitor that exists already', async () => {
  const { told, send, stored, newest, press } = await start();
  const added = await told(`/monitor add http://127.0.0.1:9/blog Blog runbook=${ADDRESS}`);
  expect(added).toContain(`Runbook: ${ADDRESS}`);
  expect(await stored(await newest())).toBe(ADDRESS);
  const line = '/monitor add http://127.0.0.1:9/ Again runbook="1. Look\n2. Call"';
  const asked = await send(line);
  expect(textOf(asked)).toContain('Runbook: 1. Look\n2. Call');
  await press(asked, 'Add anyway');
  expect(await stored(await newest())).toBe('1. Look\n2. Call');
});

test('/monitor change replaces a runbook, and an empty text removes it', async () => {
  const { told, stored } = await start();
  const changed = await told(`/monitor change shop runbook=${ADDRESS}`);
  expect(changed).toContain(`Runbook: none → ${ADDRESS}`);
  expect(await stored()).toBe(ADDRESS);
  expect(await told(`/monitor change shop runbook=${ADDRESS}`)).toContain('Nothing has changed.');
  expect(await told('/monitor change shop interval=5m')).not.toContain('Runbook');
  expect(await stored()).toBe(ADDRESS);
  expect(await told('/monitor change shop runbook=""')).toContain(`Runbook: ${ADDRESS} → none`);
  expect(await stored()).toBeUndefined();
});

test('/monitor change says how long a runbook may be', async () => {
  const { told, stored } = await start(ADDRESS);
  const refused = await told(`/monitor change shop runbook="${'ü'.repeat(2_100)}"`);
  expect(refused).toContain('“runbook”: must have at most 4096 bytes; put the rest on a page');
  expect(await stored()).toBe(ADDRESS);
});

test('/monitor show shows an address as a fact, and all lines of a text', async () => {
  const withAddress = await start(ADDRESS);
  expect(await withAddress.told('/monitor show shop')).toContain(`Runbook: ${ADDRESS}\n`);
  const text = Array.from({ length: 40 }, (_, at) => `${at}. Look`).join('\n');
  const withText = await start(text);
  expect(await withText.told('/monitor show shop')).toContain(`Runbook:\n${text}`);
  expect(await (await start()).told('/monitor show shop')).not.toContain('Runbook');
});

test('the form of a monitor with a long runbook opens without it', async () => {
  const { openForm } = await start('x'.repeat(4_096));
  const { begin, isAll } = (await openForm()) ?? {};
  expect(isAll).toBe(true);
  expect(begin?.values).not.toHaveProperty('runbook');
  expect(begin?.inputs).not.toContain('runbook');
});

test('a runbook with a login is shown without it, and the reply is private where the line is shown', async () => {
  const { told } = await start();
  const line = '/monitor change shop runbook="Open https://ops:hunter2@wiki.example/?token=abc"';
  expect(await told(line)).toContain('Runbook: none → Open https://…@wiki.example/?token=…');
  const values = { target: 'https://shop.example', runbook: 'see https://ops:pw@wiki.example' };
  expect(monitorAdd.hasSecret?.(values)).toBe(true);
  expect(monitorAdd.hasSecret?.({ ...values, runbook: ADDRESS })).toBe(false);
});
