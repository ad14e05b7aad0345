import { describe, expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import { readWebhookAddress, webhookChannel } from '../../src/bot/channels/webhook-address.ts';
import type { Bot } from '../../src/bot/platform.ts';
import type { Card } from '../../src/bot/shared/card.ts';
import { addressProblem, isGeneric } from '../../src/webhook/shapes.ts';
import { createWebhook } from '../../src/webhook/webhook.ts';
import {
  NtfyMessage,
  PagerDutyEvent,
  startWebhookReceiver,
  TeamsMessage,
} from '../fakes/webhook-receiver.ts';
import { HOSTILE_TEXTS } from '../helpers/bot/hostile-texts.ts';

const KEY = '0123456789abcdef0123456789abcdef';

const addressOf = (text: string) => readWebhookAddress(text) ?? new URL('about:blank');

const monitors = ['Shop', 'API'].map((name) => ({
  ...{ id: name, name, status: 'DOWN', since: '2026-11-29T14:02:00.000Z' },
  target: `https://${name}.example`,
}));

type State = NonNullable<Card['alert']>['state'];

/** A card about the first monitors. */
const cardOf = (state: State, count = 1, more: Partial<Card> = {}): Card => ({
  tone: state === 'resolved' ? 'good' : 'bad',
  title: state === 'resolved' ? 'Shop recovered after 4 min' : 'Shop is down',
  parts: [{ kind: 'facts', facts: [{ label: 'Cause', value: 'answered 503 🔥' }] }],
  link: { label: 'Open', url: 'https://shop.example/' },
  alert: { sequence: 1, state, monitors: monitors.slice(0, count), moreMonitors: 0 },
  ...more,
});

/** Posts one outage from its beginning to its end, and returns the bodies that a receiver with the limits of a service accepted. */
async function playOutage<Body>(schema: z.ZodType<Body>, path: string, count = 1) {
  const receiver = await startWebhookReceiver(schema);
  const address = receiver.url + path;
  const platform = createWebhook({ addresses: [address], allowPrivate: [], isHeld: () => true });
  await platform.start({} as Bot);
  onTestFinished(() => platform.stop());
  const channel = webhookChannel(addressOf(address));
  const post = (card: Card, id = 'a1@webhook:x') =>
    platform.post({ channel, card, id, attempted: false });
  const posted = await post(cardOf('open', count));
  await platform.update(channel, posted, cardOf('open', count));
  const line = { channel, posted, attempted: false };
  await platform.announce({ ...line, id: 'reminder', card: cardOf('open', count) });
  await platform.update(channel, posted, cardOf('acknowledged', count));
  await platform.update(channel, posted, cardOf('resolved', count));
  await platform.announce({ ...line, id: 'end', card: cardOf('resolved', count) });
  const { posts } = receiver;
  return {
    receiver,
    post,
    bodies: posts.map(({ body }) => body),
    paths: posts.map((one) => one.path),
  };
}

describe('PagerDuty', () => {
  const path = `/v2/enqueue?routing_key=${KEY}#pagerduty`;

  test('triggers, acknowledges and resolves one alert, with the key in the body only', async () => {
    const { bodies, paths } = await playOutage(PagerDutyEvent, path);
    expect(new Set(paths)).toEqual(new Set(['/v2/enqueue']));
    expect(bodies.map(({ event_action }) => event_action)).toEqual([
      ...['trigger', 'trigger', 'acknowledge', 'resolve'],
    ]);
    expect(new Set(bodies.map(({ dedup_key }) => dedup_key))).toEqual(new Set(['askwatch-a1']));
    expect(bodies[0]).toMatchObject({
      routing_key: KEY,
      links: [{ href: 'https://shop.example/' }],
      payload: {
        ...{ summary: 'Shop is down', source: 'https://Shop.example', severity: 'critical' },
        timestamp: '2026-11-29T14:02:00.000Z',
        custom_details: { Cause: 'answered 503 🔥' },
      },
    });
  });

  test('a test post pages nobody', async () => {
    const { receiver, post } = await playOutage(PagerDutyEvent, path);
    await post({ tone: 'info', title: 'Alerts arrive here from now on', parts: [] }, 'test');
    expect(receiver.posts.at(-1)?.body.event_action).toBe('resolve');
  });
});

describe('ntfy', () => {
  test('has a message when an outage begins, when it is not acknowledged and when it ends', async () => {
    const { bodies, paths } = await playOutage(NtfyMessage, '/shop-alerts?auth=t0k#ntfy');
    expect(new Set(paths)).toEqual(new Set(['/?auth=t0k']));
    expect(bodies.map(({ priority, tags }) => [priority, tags])).toEqual([
      [5, ['rotating_light']],
      [5, ['rotating_light']],
      [3, ['white_check_mark']],
    ]);
    expect(bodies[0]).toMatchObject({
      ...{ topic: 'shop-alerts', title: 'Shop is down', message: 'Cause: answered 503 🔥' },
      ...{ click: 'https://shop.example/', sequence_id: 'a1' },
    });
  });

  test('shows without a sound that a message about several monitors changed', async () => {
    const { bodies } = await playOutage(NtfyMessage, '/shop-alerts#ntfy', 2);
    expect(bodies.map(({ priority }) => priority)).toEqual([5, 2, 5, 2, 3]);
  });

  test('keeps the path of a server in a folder', async () => {
    const { paths } = await playOutage(NtfyMessage, '/push/shop-alerts#ntfy');
    expect(new Set(paths)).toEqual(new Set(['/push/']));
  });
});

test('Teams has a card when an outage begins, when it is not acknowledged and when it ends', async () => {
  const { bodies } = await playOutage(TeamsMessage, '/workflows/1?sig=s#teams');
  const texts = bodies.map(({ attachments }) =>
    attachments[0]?.content.body.map((one) => one.text),
  );
  expect(texts).toEqual([
    ['Shop is down', 'Cause: answered 503 🔥'],
    ['Shop is down', 'Cause: answered 503 🔥'],
    ['Shop recovered after 4 min', 'Cause: answered 503 🔥'],
  ]);
  expect(bodies[0]?.attachments[0]?.content.actions).toEqual([
    { type: 'Action.OpenUrl', title: 'Open', url: 'https://shop.example/' },
  ]);
});

test.each([
  ['PagerDuty', PagerDutyEvent, `/v2/enqueue?routing_key=${KEY}#pagerduty`],
  ['ntfy', NtfyMessage, '/shop#ntfy'],
  ['Teams', TeamsMessage, '/workflows/1#teams'],
] as const)('%s accepts every text', async (_name, schema: z.ZodType<unknown>, path) => {
  const { receiver, post } = await playOutage(schema, path);
  for (const text of [...HOSTILE_TEXTS, '🚨'.repeat(50_000), 'x\n'.repeat(5000)]) {
    const facts = Array.from({ length: 60 }, () => ({ label: text, value: text }));
    await post(cardOf('open', 2, { title: text, parts: [{ kind: 'facts', facts }] }));
  }
  expect(receiver.refused).toEqual([]);
});

test('a text in Teams can’t link or format anything', async () => {
  const { receiver, post } = await playOutage(TeamsMessage, '/workflows/1#teams');
  await post(cardOf('open', 1, { title: '[log in](https://evil.example) **now**' }));
  const card = receiver.posts.at(-1)?.body.attachments[0]?.content;
  expect(card?.body[0]?.text).toBe('\\[log in\\]\\(https://evil.example\\) \\*\\*now\\*\\*');
});

test.each([
  ['https://events.pagerduty.com/v2/enqueue', /routing_key=/],
  ['https://ntfy.sh/', /Add the topic/],
  ['https://ntfy.example/a%20b#ntfy', /1 to 64 letters/],
  ['https://hooks.example/#slack', /#json, #pagerduty, #ntfy, #teams/],
  ['https://hooks.example/#constructor', /#json, #pagerduty, #ntfy, #teams/],
  [`https://events.pagerduty.com/v2/enqueue?routing_key=${KEY}`, undefined],
  ['https://ntfy.sh/shop', undefined],
  ['https://ntfy.sh/#json', undefined],
])('says what is missing in the address %s: %s', (address, problem) => {
  const found = addressProblem(addressOf(address));
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

test.each([
  ['https://events.eu.pagerduty.com/v2/enqueue', false],
  ['https://ntfy.sh/shop', false],
  ['https://prod-23.westeurope.logic.azure.com:443/workflows/1', false],
  ['https://default1.2.environment.api.powerplatform.com:443/powerautomate/x', false],
  ['https://acme.webhook.office.com/webhookb2/1', false],
  ['https://acme.webhook.office.com/webhookb2/1#json', true],
  ['https://logic.azure.com.evil.example/', true],
  ['https://hooks.example.com/', true],
])('%s gets events as they are: %s', (address, generic) => {
  expect(isGeneric(addressOf(address))).toBe(generic);
});
