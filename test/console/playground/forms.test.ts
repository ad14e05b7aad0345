import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { InteractionOutcome, ShownForm } from '../../../src/console/shared/api-types.ts';
import { textOf } from '../../helpers/bot.ts';
import { cardOf } from '../../helpers/console/messages.ts';
import {
  listedAt,
  openTab,
  snapshotOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

async function formOf(tab: Tab, line: string): Promise<ShownForm> {
  const said = await tab.say(line);
  if (said.shown !== 'form') throw new Error(`There is no form, but ${JSON.stringify(said)}.`);
  return said.form;
}

/** Sends a form as the page does. */
async function send(
  tab: Tab,
  command: string,
  values: Record<string, string>,
  more: Record<string, unknown> = {},
): Promise<InteractionOutcome> {
  const gesture = { id: randomUUID(), channel: 'general', command, values };
  const response = await tab.tell('forms', { ...gesture, ...more });
  if (!response.ok) throw new Error(`Status ${response.status}: ${await response.text()}`);
  return (await response.json()) as InteractionOutcome;
}

test.each(['/monitor add', ' /MONITOR  Add  '])(
  'a command typed without input opens its form: %j',
  async (line) => {
    const { url, service } = await startTestConsole();
    const tab = await openTab(url);
    const form = await formOf(tab, line);
    expect(form).toMatchObject({
      command: 'monitor add',
      title: 'Add a monitor',
      send: 'Add',
      decides: 'type',
      values: { type: 'HTTP' },
    });
    const names = Object.entries(form.fields).map(([type, fields]) => [
      type,
      fields.map(({ name, required }) => (required ? `${name}*` : name)).join(' '),
    ]);
    expect(Object.fromEntries(names)).toEqual({
      HTTP: 'type* target* name interval json',
      KEYWORD: 'type* target* name interval keyword*',
      DNS: 'type* target* name interval record',
      TCP: 'type* target* name interval expect send',
      CERTIFICATE: 'type* target* name interval days starttls',
      HEARTBEAT: 'type* target* name interval cron zone grace',
    });
    expect(service.monitors).toEqual([]);
    expect(await listedAt(url)).toEqual([]);
  },
);

test('a form begins with the current values and offers the choices', async () => {
  const { url } = await startTestConsole();
  const tab = await openTab(url);
  const model = await formOf(tab, '/askwatch model');
  expect(model.values).toEqual({ model: 'default' });
  expect(model.fields['']?.[0]).toMatchObject({
    kind: 'choice',
    choices: expect.arrayContaining(['default', 'test-model']),
    required: true,
  });
  await send(tab, 'askwatch prompt', { prompt: 'Answer\nin verse.' });
  const prompt = await formOf(tab, '/askwatch prompt');
  expect(prompt.values).toEqual({ prompt: 'Answer\nin verse.' });
  expect(prompt.fields['']?.[0]?.long).toBe(true);
});

test('the button under a monitor opens its form, and the reply is all that the channel shows', async () => {
  const service = await startService();
  const { id } = await service.create({
    name: 'Shop',
    check_type: 'HTTP',
    target: 'http://127.0.0.1:9/',
  });
  const { url } = await startTestConsole({ watched: service });
  const tab = await openTab(url);
  const form = await formOf(tab, '/monitor change shop');
  expect(form).toMatchObject({
    carried: { monitor: id },
    values: { name: 'Shop', interval: '1m' },
  });
  const said = await send(tab, form.command, { ...form.values, ...form.carried, interval: '5m' });
  expect(said).toMatchObject({ shown: 'channel' });
  const [message, ...more] = await listedAt(url);
  expect(more).toEqual([]);
  expect(message && textOf(cardOf(message))).toContain('Every: 1 minute → 5 minutes');
});

test('a line with input opens no form', async () => {
  const { url } = await startTestConsole();
  const tab = await openTab(url);
  for (const line of [
    '/monitor add https://shop.example',
    'monitor add',
    '/monitor list',
    '/ask',
  ]) {
    expect((await tab.say(line)).shown, line).not.toBe('form');
  }
});

test('a submitted form runs its command once, in the channel where it was opened', async () => {
  const { url, service } = await startTestConsole({ channels: ['ops'] });
  const tab = await openTab(url);
  const id = randomUUID();
  const values = { type: 'KEYWORD', target: 'shop.example', name: '', keyword: 'Cart' };
  const sent = [1, 2, 3].map(() => send(tab, 'monitor add', values, { id, channel: 'ops' }));
  const [said, ...others] = await Promise.all(sent);
  expect(said).toMatchObject({ shown: 'channel' });
  for (const other of others) expect(other).toEqual(said);
  expect(service.monitors).toHaveLength(1);
  const [message, ...more] = await listedAt(url);
  expect(more).toEqual([]);
  if (!message) throw new Error('There is no message.');
  expect(message.command).toBe('/monitor add');
  expect(message.by).toEqual((await snapshotOf(tab)).person);
  expect(textOf(cardOf(message))).toContain('Alerts will be posted in this channel.');
});

test('an unknown or oversized form is refused', async () => {
  const { url, service } = await startTestConsole();
  const tab = await openTab(url);
  for (const [status, wrong] of [
    [400, { command: 'monitor list' }],
    [400, { command: 'toString' }],
    [400, { command: '' }],
    [400, { values: { target: 7 } }],
    [400, { values: { target: 'x'.repeat(16_001) } }],
    [400, { values: 'target' }],
    [400, { extra: true }],
    [404, { channel: 'none' }],
    [404, { thread: 'none' }],
  ] as const) {
    const whole = { id: randomUUID(), channel: 'general', command: 'monitor add', values: {} };
    const answer = await tab.tell('forms', { ...whole, ...wrong });
    expect([wrong, answer.status]).toEqual([wrong, status]);
  }
  expect(service.monitors).toEqual([]);
});

const offered = async (url: string, input: string, typed: string) => {
  const query = new URLSearchParams({ input, typed });
  const response = await fetch(`${url}/console/suggestions?${query}`);
  return (await response.json()) as Array<{ label: string; value: string }>;
};

test('the server offers monitors by id, filters by name, and models', async () => {
  const { url, service } = await startTestConsole();
  const shop = service.add({ name: 'Shop' });
  service.add({ name: 'Blog', target: 'https://blog.example' });
  const list = await eventually(async () => {
    const found = await offered(url, 'monitor', 'sho');
    return found.length > 0 && found;
  });
  expect(list).toMatchObject([{ value: shop.id, label: expect.stringContaining('Shop') }]);
  expect(await offered(url, 'filter', 'blo')).toMatchObject([{ value: 'Blog' }]);
  expect(await offered(url, 'model', 'T-MOD')).toMatchObject([{ value: 'test-model' }]);
  expect(await offered(url, 'question', '')).toEqual([]);
  expect(await offered(url, '__proto__', '')).toEqual([]);
});
