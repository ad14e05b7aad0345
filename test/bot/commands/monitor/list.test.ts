import { expect, test } from 'vitest';
import type { Card } from '../../../../src/bot/shared/card.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

async function start(count: number) {
  const running = await startTestBot();
  for (let at = 1; at <= count; at += 1) {
    running.service.add({ name: `Shop ${String(at).padStart(2, '0')}` });
  }
  running.service.setStatus(`mon_${count}`, 'DOWN');
  async function press(card: Card, label: string) {
    const reply = await running.press(card, label);
    expect(reply).toMatchObject({ kind: 'card', private: true });
    return cardOf(reply);
  }
  return { ...running, press };
}

const names = ({ parts }: Card) =>
  parts[0]?.kind === 'table' ? parts[0].rows.map(([, name]) => name) : [];
const labels = ({ actions }: Card) => actions?.map(({ label }) => label);

test('a long list has pages, DOWN first, and each monitor is on one page', async () => {
  const { say, press } = await start(45);
  const first = cardOf(await say('/monitor list'));
  expect([names(first)[0], names(first).length, labels(first)]).toEqual(['Shop 45', 20, ['Next']]);
  expect(textOf(first)).toContain('Page 1 of 3.');
  const second = await press(first, 'Next');
  expect(labels(second)).toEqual(['Previous', 'Next']);
  const third = await press(second, 'Next');
  expect(textOf(third)).toContain('Page 3 of 3.');
  expect(labels(third)).toEqual(['Previous']);
  const all = [first, second, third].flatMap(names);
  expect(new Set(all).size).toBe(45);
  expect(all).toHaveLength(45);
  expect(names(await press(third, 'Previous'))).toEqual(names(second));
});

test('a heartbeat without a ping is listed as waiting', async () => {
  const service = await startService();
  const { push_url = '' } = await service.create({
    ...{ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1' },
  });
  const { say } = await startTestBot({ watched: service });
  const statuses = async () => {
    const [table] = cardOf(await say('/monitor list')).parts;
    return table?.kind === 'table' ? table.rows.map(([status]) => status) : [];
  };
  expect(await statuses()).toEqual(['PENDING, waiting for its first ping']);
  await service.call('POST', `${new URL(push_url).pathname}/start`);
  expect(await statuses()).toEqual(['PENDING']);
});

test('a page keeps its filter, and a page that is gone shows the last one', async () => {
  const { say, press, service } = await start(45);
  const first = cardOf(await say('/monitor list shop 0'));
  expect(first.actions).toEqual([]);
  const up = cardOf(await say('/monitor list up'));
  expect(up.title).toBe('44 monitors with “up”: 44 UP');
  const second = await press(up, 'Next');
  expect(second.title).toBe(up.title);
  service.monitors.splice(0, 30);
  const third = await press(second, 'Next');
  expect(third.title).toBe('14 monitors with “up”: 14 UP');
  expect(names(third)).toHaveLength(14);
  expect(third.actions).toEqual([]);
});

test('a filter that is too long for a button leaves only the advice', async () => {
  const target = `https://shop.example/${'x'.repeat(120)}`;
  const { service, say } = await startTestBot();
  for (let at = 0; at < 25; at += 1) service.add({ name: `Shop ${at}`, target });
  const card = cardOf(await say(`/monitor list ${target}`));
  expect(card.actions).toEqual([]);
  expect(textOf(card)).toContain('Page 1 of 2. Narrow it down');
});
