import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  maskedAddress,
  readWebhookAddress,
  webhookChannel,
} from '../../src/bot/channels/webhook-address.ts';
import type { Bot } from '../../src/bot/platform.ts';
import type { Card } from '../../src/bot/shared/card.ts';
import { DeliveryError } from '../../src/bot/shared/errors.ts';
import { createWebhook } from '../../src/webhook/webhook.ts';
import { AnyJson, startWebhookReceiver } from '../fakes/webhook-receiver.ts';
import { HOSTILE_TEXTS } from '../helpers/bot/hostile-texts.ts';
import { startTestBot } from '../helpers/bot.ts';
import { eventually } from '../helpers/eventually.ts';
import { holdTimers } from '../helpers/hold-timers.ts';
import { listen } from '../helpers/http/listen.ts';

const SECRET = 'one secret of 32 characters, ok?';

const addressOf = (text: string) => readWebhookAddress(text) ?? new URL('about:blank');

const OPEN: Card = {
  tone: 'bad',
  title: 'Shop is down',
  parts: [{ kind: 'facts', facts: [{ label: 'Target', value: 'https://shop.example' }] }],
  goesOn: true,
  alert: {
    sequence: 1,
    state: 'open',
    moreMonitors: 0,
    monitors: [
      {
        id: '7',
        name: 'Shop',
        status: 'DOWN',
        since: '2026-11-29T14:02:00.000Z',
        cause: 'answered 503',
      },
    ],
  },
};

/** A webhook at the address, which the operator names, or which a channel registered. */
async function openWebhook(
  address: string,
  options: {
    isFromChat?: boolean;
    allowPrivate?: string[];
    secret?: string;
    isElsewhere?: boolean;
  } = {},
) {
  const { isFromChat = false, allowPrivate = [], secret, isElsewhere = false } = options;
  const addresses = isFromChat ? [] : [address];
  const platform = createWebhook({ addresses, allowPrivate, secret, isHeld: () => !isElsewhere });
  const channel = webhookChannel(addressOf(address), isFromChat ? 'slack:C1' : undefined);
  const webhookAddress = async (asked: string) => (asked === channel ? address : undefined);
  await platform.start({ webhookAddress } as Partial<Bot> as Bot);
  onTestFinished(() => platform.stop());
  const post = (card = OPEN, { id = 'a1@webhook:x', attempted = false } = {}) =>
    platform.post({ channel, card, id, attempted });
  return { platform, channel, post };
}

/** The error of a post. */
async function failureOf(sending: Promise<unknown>): Promise<DeliveryError> {
  const error: unknown = await sending.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error instanceof DeliveryError) return error;
  throw new Error(`Wanted a DeliveryError, got ${String(error)}.`);
}

test('an outage, its acknowledgement and its end are posted under one id, each with a higher sequence', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const address = `${receiver.url}/alerts?key=hunter2`;
  const { bot, service, lines } = await startTestBot({
    settings: {
      alertPlaces: [{ platform: 'webhook', channel: webhookChannel(addressOf(address)) }],
    },
  });
  const platform = createWebhook({ addresses: [address], allowPrivate: [], isHeld: () => true });
  onTestFinished(() => platform.stop());
  await platform.start(bot);
  const { id } = service.add({ name: 'Shop', target: 'https://user:pw@shop.example/?token=t0p' });
  await bot.start([platform]);
  await eventually(() => service.requests.length > 1);
  const events = () => receiver.posts.map(({ body }) => body.event);
  service.setStatus(id, 'DOWN');
  await eventually(() => events().length === 1);
  const incident = bot.incidents.openOf(id) ?? '';
  await bot.incidents.mark(incident, 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
  await eventually(() => events().length === 2);
  service.setStatus(id, 'UP');
  await eventually(() => events().length === 3);
  expect(events()).toEqual(['opened', 'acknowledged', 'resolved']);
  const bodies = receiver.posts.map(({ body }) => body);
  expect(new Set(bodies.map((body) => body.id))).toEqual(new Set([incident]));
  const sequences = bodies.map(({ sequence }) => Number(sequence));
  expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
  expect(bodies[0]).toMatchObject({
    ...{ version: 1, state: 'open', severity: 'critical', title: 'Shop is down' },
    text: expect.stringContaining('Target: https://shop.example/?token='),
    monitors: [{ id, name: 'Shop', status: 'DOWN', since: expect.stringMatching(/Z$/) }],
  });
  expect(bodies[2]).toMatchObject({ state: 'resolved', severity: 'info' });
  expect(bodies[2]?.monitors).toMatchObject([{ status: 'UP', until: expect.any(String) }]);
  expect(JSON.stringify(bodies)).not.toMatch(/t0p|user:pw/);
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});

test('the snippet in the docs accepts a signed post, and no other', async () => {
  const page = readFileSync(new URL('../../docs/alerts-elsewhere.md', import.meta.url), 'utf8');
  const snippet = /```js\n(import \{ createHmac.*?)```/s.exec(page)?.[1] ?? '';
  const module = `data:text/javascript,${encodeURIComponent(snippet)}`;
  const { isFromAskwatch } = (await import(/* @vite-ignore */ module)) as {
    isFromAskwatch(headers: object, body: string, secret: string): boolean;
  };
  const receiver = await startWebhookReceiver(AnyJson);
  const { post } = await openWebhook(receiver.url, { secret: SECRET });
  await post();
  const [sent] = receiver.posts;
  expect(sent).toBeDefined();
  if (!sent) return;
  const { headers, text } = sent;
  expect(isFromAskwatch(headers, text, SECRET)).toBe(true);
  expect(isFromAskwatch(headers, text, `${SECRET}!`)).toBe(false);
  expect(isFromAskwatch(headers, `${text} `, SECRET)).toBe(false);
  const old = { ...headers, 'x-askwatch-timestamp': '1700000000' };
  expect(isFromAskwatch(old, text, SECRET)).toBe(false);
  expect(isFromAskwatch({}, text, SECRET)).toBe(false);
});

test('a post without WEBHOOK_SECRET isn’t signed', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  await (await openWebhook(receiver.url)).post();
  expect(receiver.posts[0]?.headers).not.toHaveProperty('x-askwatch-signature');
});

test('a repeated post has the same delivery id, and every other post its own', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const { platform, channel, post } = await openWebhook(receiver.url);
  receiver.refuseWith('lose');
  expect((await failureOf(post())).permanent).toBe(false);
  receiver.refuseWith(undefined);
  const posted = await post(OPEN, { attempted: true });
  const changed = (sequence: number): Card => ({
    ...OPEN,
    alert: { state: 'open', monitors: [], moreMonitors: 0, sequence },
  });
  await platform.update(channel, posted, changed(2));
  await platform.update(channel, posted, changed(2));
  await platform.update(channel, posted, changed(3));
  const line = { channel, posted, card: changed(3), id: 'a1@webhook:x/reminder/5' };
  await platform.announce({ ...line, attempted: false });
  const ids = receiver.posts.map(({ headers }) => headers['x-askwatch-delivery']);
  expect(ids[0]).toBe(ids[1]);
  expect(ids[2]).toBe(ids[3]);
  expect(new Set(ids).size).toBe(4);
  expect(receiver.posts.at(-1)?.body.event).toBe('reminder');
});

test('findings and links are lines of the text, with times in ISO 8601 and addresses', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const { post } = await openWebhook(receiver.url);
  const items = [{ atMs: 0, text: 'Deployed', url: 'https://ci.example/1' }, { text: 'Disk full' }];
  const facts = [{ label: 'Deploy', value: { text: 'v1.2', url: 'https://ci.example/1' } }];
  const parts: Card['parts'] = [
    { kind: 'findings', heading: 'Found', items },
    { kind: 'facts', facts },
  ];
  await post({ ...OPEN, parts });
  const value = 'v1.2 (https://ci.example/1)';
  expect(receiver.posts[0]?.body.facts).toEqual([{ label: 'Deploy', value }]);
  expect(receiver.posts[0]?.body.text).toBe(
    'Found\n• 1970-01-01T00:00:00.000Z Deployed (https://ci.example/1)\n• Disk full\nDeploy: v1.2 (https://ci.example/1)',
  );
});

test('a card under an alert, and its changes, aren’t posted', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const { platform, channel, post } = await openWebhook(receiver.url);
  const under = await post();
  const reply = { channel, under, card: OPEN, id: 'a1/findings@webhook:x', attempted: false };
  const posted = await platform.post(reply);
  expect(posted.thread).toBe(under.thread);
  await platform.update(channel, posted, OPEN);
  expect(receiver.posts).toHaveLength(1);
});

test.each([
  [200, undefined],
  [204, undefined],
  [301, { permanent: true, closed: true }],
  [400, { permanent: true, closed: true }],
  [401, { permanent: true, closed: true }],
  [404, { permanent: true, closed: true }],
  [410, { permanent: true, closed: true }],
  [408, { permanent: false, closed: false }],
  [429, { permanent: false, closed: false, retryAfterMs: 7000 }],
  [500, { permanent: false, closed: false, retryAfterMs: 7000 }],
  [503, { permanent: false, closed: false }],
])('an answer of %d means that the post %j', async (status, failure) => {
  const receiver = await startWebhookReceiver(AnyJson);
  receiver.refuseWith({ status, headers: { 'retry-after': '7', location: '/elsewhere' } });
  const { post } = await openWebhook(receiver.url);
  if (failure === undefined) await post();
  else expect(await failureOf(post())).toMatchObject(failure);
  // A redirect isn't followed.
  expect(receiver.requests()).toBe(1);
});

test('a post that isn’t answered, or whose connection breaks, is tried again', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const { post } = await openWebhook(`${receiver.url}/hunter2`);
  receiver.refuseWith('drop');
  const dropped = await failureOf(post());
  expect(dropped).toMatchObject({ permanent: false });
  expect(dropped.message).toBe('The webhook can’t be reached (ECONNRESET). Check its address.');
  receiver.refuseWith('hang');
  const timers = holdTimers(10_000);
  const hanging = failureOf(post());
  await eventually(() => receiver.requests() === 2);
  timers.expire();
  expect((await hanging).message).toBe('The webhook didn’t answer within 10 s.');
});

test('a process that has lost the bot posts nothing', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const { post } = await openWebhook(receiver.url, { isElsewhere: true });
  expect(await failureOf(post())).toMatchObject({ permanent: false });
  expect(receiver.requests()).toBe(0);
});

test('an endless answer ends the post with its status', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200);
    const flood = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    };
    response.on('drain', flood);
    flood();
  });
  const { post } = await openWebhook(`http://127.0.0.1:${await listen(server)}`);
  await post();
});

test('an answer whose rest never comes ends the post with its status', async () => {
  const server = createServer((_request, response) => void response.writeHead(200).write('x'));
  const { post } = await openWebhook(`http://127.0.0.1:${await listen(server)}`);
  const timers = holdTimers(10_000);
  const hasBegun = new Promise((resolve) => {
    subscribe('http.client.response.finish', resolve);
    onTestFinished(() => void unsubscribe('http.client.response.finish', resolve));
  });
  const posted = post();
  await hasBegun;
  timers.expire();
  await posted;
});

describe('an address from a channel', () => {
  const refusal = {
    permanent: true,
    closed: true,
    message: expect.stringContaining('MONITOR_ALLOW_PRIVATE'),
  };

  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433'])(
    'can’t lead to %s',
    async (host) => {
      const receiver = await startWebhookReceiver(AnyJson);
      const { port } = new URL(receiver.url);
      const { post } = await openWebhook(`http://${host}:${port}/`, { isFromChat: true });
      expect(await failureOf(post())).toMatchObject(refusal);
      expect(receiver.requests()).toBe(0);
    },
  );

  test('may lead to a private network that the operator allows, over http too', async () => {
    const receiver = await startWebhookReceiver(AnyJson);
    const allowed = { isFromChat: true, allowPrivate: ['127.0.0.0/8'] };
    await (await openWebhook(receiver.url, allowed)).post();
    expect(receiver.posts).toHaveLength(1);
  });

  test('must be https outside of private networks', async () => {
    const { post } = await openWebhook('http://1.1.1.1:9/', { isFromChat: true });
    expect(await failureOf(post())).toMatchObject(refusal);
  });

  test('gets nothing once it was removed', async () => {
    const receiver = await startWebhookReceiver(AnyJson);
    const { platform } = await openWebhook(receiver.url);
    await platform.post({ channel: 'gone/1', card: OPEN, id: 'a', attempted: false });
    expect(receiver.requests()).toBe(0);
  });
});

test('no text makes a post invalid or larger than 200 KB', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const { post } = await openWebhook(receiver.url);
  for (const text of [...HOSTILE_TEXTS, '\u{1f6a8}'.repeat(50_000)]) {
    const facts = Array.from({ length: 100 }, () => ({ label: text, value: text }));
    const parts: Card['parts'] = [
      { kind: 'facts', facts },
      { kind: 'text', text },
    ];
    await post({ ...OPEN, title: text, parts });
    expect(Buffer.byteLength(receiver.posts.at(-1)?.text ?? '')).toBeLessThan(200_000);
  }
  expect(receiver.refused).toEqual([]);
});

test('an address is shown by its host and its last characters, and a short one by its host', () => {
  const shown = (text: string) => maskedAddress(addressOf(text));
  expect(shown('https://user:pw@hooks.example.com/services/T0/B1/abcdefgh1234#json')).toBe(
    'https://hooks.example.com/…1234',
  );
  expect(shown('https://ntfy.sh/shop')).toBe('https://ntfy.sh/…');
});
