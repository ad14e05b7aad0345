import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { Message, Outcome, ShownForm } from '../../../src/console/shared/api-types.ts';
import { textOf } from '../../helpers/bot.ts';
import {
  listedAt,
  openTab,
  snapshotOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

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
): Promise<Outcome> {
  const gesture = { id: randomUUID(), channel: 'general', command, values };
  const response = await tab.tell('forms', { ...gesture, ...more });
  if (!response.ok) throw new Error(`Status ${response.status}: ${await response.text()}`);
  return (await response.json()) as Outcome;
}

const cardOf = ({ body }: Message): Card => {
  if (body.kind !== 'card') throw new Error('There is no card.');
  return body.card;
};

describe('a command that is typed bare', () => {
  test.each(['/monitor add', ' /MONITOR  Add  '])('opens its form: %j', async (line) => {
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
  });

  test('begins with what is set, and offers what can be chosen', async () => {
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

  test('and only that opens one', async () => {
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
});

describe('a form that is sent', () => {
  test('does what the command does, once, in the channel where it was opened', async () => {
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

  test('and is not right says so beside the input', async () => {
    const { url, service } = await startTestConsole();
    const tab = await openTab(url);
    for (const [values, problems] of [
      [{ type: 'HTTP', target: '' }, { target: /“target” is missing/ }],
      [{ type: 'HTTP', target: 'ftp://x' }, { target: /is not a web address/ }],
      [{ type: 'KEYWORD', target: 'https://x.example' }, { keyword: /needs the text to look for/ }],
      [
        { type: 'HTTP', target: 'https://x.example', interval: 'soon' },
        { interval: /Use 30s, 5m, 2h or 1d/ },
      ],
      [{ type: 'TELEPATHY', target: 'https://x.example' }, { type: /must be one of/ }],
    ] as Array<[Record<string, string>, Record<string, RegExp>]>) {
      const said = await send(tab, 'monitor add', values);
      const [[name, pattern] = ['', /x/]] = Object.entries(problems);
      expect([values, said]).toEqual([
        values,
        { shown: 'problems', problems: { [name]: expect.stringMatching(pattern) } },
      ]);
    }
    expect(service.monitors).toEqual([]);
    expect(await listedAt(url)).toEqual([]);
  });

  test('and does not work is said to its sender alone, and can be sent again', async () => {
    const { url, service } = await startTestConsole();
    const tab = await openTab(url);
    const values = { type: 'HTTP', target: 'https://shop.example' };
    service.failWith({ kind: 'status', status: 400 });
    const said = await send(tab, 'monitor add', values);
    expect(said.shown).toBe('refused');
    expect(said.shown === 'refused' && textOf(said.card)).toContain('/monitor add did not work');
    expect(await listedAt(url, tab.cookie)).toEqual([]);
    service.recover();
    expect(await send(tab, 'monitor add', values)).toMatchObject({ shown: 'channel' });
  });

  test('in a thread is shown there', async () => {
    const { url, console } = await startTestConsole();
    const card: Card = { tone: 'bad', title: 'x', parts: [] };
    const { thread } = await console.post({ channel: 'general', card, id: 'a', attempted: false });
    const said = await send(
      await openTab(url),
      'monitor add',
      { type: 'HTTP', target: 'x.example' },
      { thread },
    );
    expect(said).toEqual({ shown: 'thread', message: thread });
  });

  test('and is none is refused', async () => {
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
});

describe('values that are offered while one types', () => {
  const offered = async (url: string, input: string, typed: string) => {
    const query = new URLSearchParams({ input, typed });
    const response = await fetch(`${url}/console/suggestions?${query}`);
    return (await response.json()) as Array<{ label: string; value: string }>;
  };

  test('are monitors by their ids, filters by names, and models', async () => {
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

  test('are twenty at most, each once and in a size', async () => {
    const { url, service } = await startTestConsole();
    for (let index = 0; index < 30; index++) service.add({ name: `Shop ${index}` });
    for (const _ of [1, 2]) service.add({ name: 'Same' });
    service.add({ name: 'x'.repeat(5_000) });
    const list = await eventually(async () => {
      const found = await offered(url, 'monitor', 'shop ');
      return found.length > 0 && found;
    });
    expect(list).toHaveLength(20);
    expect(await offered(url, 'filter', 'same')).toHaveLength(1);
    expect(await offered(url, 'filter', 'xxx')).toEqual([]);
    const [long] = await offered(url, 'monitor', 'xxx');
    expect(long?.label.length).toBe(300);
    expect((await fetch(`${url}/console/suggestions?input=${'x'.repeat(51)}&typed=`)).status).toBe(
      400,
    );
  });
});
