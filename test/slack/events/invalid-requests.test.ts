import { expect, test } from 'vitest';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { longOnly } from '../../helpers/long-only.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

/** JSON values other than the expected object, and odd objects. */
const ODD = [
  ...[null, 'x', [null], { id: '9'.repeat(10_000) }],
  ...longOnly([0, true, [], {}, { id: null }]),
];

/** Slack's payloads, each with one odd part. */
const ODD_PAYLOADS = ODD.flatMap((odd) => [
  odd,
  { type: odd },
  { type: 'event_callback', event: odd },
  { type: 'event_callback', team_id: odd, event_id: odd, event: { type: 'app_mention' } },
  { type: 'event_callback', authorizations: odd, event: { type: 'message', text: odd } },
  { type: 'event_callback', event: { type: 'message', channel: odd, user: odd, ts: odd } },
  { type: 'event_callback', event: { type: odd, channel: 'C1', user: 'U1' } },
  { type: 'event_callback', event: { type: 'app_home_opened', user: odd, view: odd } },
  { type: 'event_callback', event: { type: 'assistant_thread_started', assistant_thread: odd } },
  { type: 'url_verification', challenge: odd },
  { type: 'app_rate_limited', team_id: odd },
  { type: 'block_actions', actions: odd },
  { type: 'block_actions', user: odd, team: odd, channel: odd, actions: [odd] },
  { type: 'block_actions', user: { id: 'U1' }, actions: [{ action_id: odd, value: odd }] },
  { type: 'view_submission', view: odd, user: { id: 'U1' }, team: { id: 'T1' } },
  { type: 'view_submission', view: { state: odd, callback_id: odd, private_metadata: odd } },
  { type: 'block_suggestion', value: odd, action_id: odd },
  { type: 'shortcut', callback_id: odd },
  { command: odd, text: odd, user_id: odd, channel_id: odd, team_id: odd },
]);

async function expectAnswering(fake: SlackFake) {
  const before = fake.whispers(CHANNEL).length;
  await fake.slash('/askwatch', 'help');
  await eventually(() => fake.whispers(CHANNEL).length > before);
}

test.each([
  [JSON_TYPE, 'null'],
  [JSON_TYPE, '1'],
  [JSON_TYPE, '"text"'],
  [FORM, 'payload=null'],
  [FORM, 'payload=1'],
])('a signed request is refused that holds no object: %s %s', async (contentType, body) => {
  const { fake } = await runSlack({ mode: 'http' });
  expect(await fake.sendSigned(body, contentType)).toBe(400);
  await expectAnswering(fake);
});

test('a request is parsed only once its signature is found right, and only if it is bounded', async () => {
  const { fake, lines } = await runSlack({ mode: 'http' });
  const text = '['.repeat(100);
  // A parser finds no object here and refuses it with a 400.
  expect(await fake.sendSigned('null', JSON_TYPE, 'a wrong secret')).toBe(401);
  for (const [type, body] of [
    [JSON_TYPE, text],
    [FORM, `payload=${text}`],
  ] as const) {
    expect(await fake.sendSigned(body, type)).toBe(400);
  }
  const said = 'refused a signed request to /slack/events: it is nested more than 64 levels deep';
  expect(lines.filter(({ msg }) => msg === said)).toHaveLength(2);
  expect(await fake.sendSigned(`{"text":"${'x'.repeat(1024 * 1024)}"}`, JSON_TYPE)).toBe(413);
  await expectAnswering(fake);
});

test('whatever is in a signed request, the next one is answered, and no error is left to nobody', async () => {
  const { fake, fatal } = await runSlack({ mode: 'http' });
  const commands = [
    'command',
    'text',
    'user_id',
    'trigger_id',
    'response_url',
    'team_id',
    'payload',
  ];
  const forms = commands.flatMap((field) => [
    `${field}=`,
    `${field}=%00`,
    `command=%2Fask&${field}=1&${field}=2`,
    `command=%2Faskwatch&text=help&${field}=${'x'.repeat(5_000)}`,
  ]);
  const bodies = [
    ...ODD_PAYLOADS.map((payload) => [JSON.stringify(payload), JSON_TYPE] as const),
    ...ODD_PAYLOADS.map(
      (payload) =>
        [new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), FORM] as const,
    ),
    ...forms.map((form) => [form, FORM] as const),
    ...['', '{', '{"type":', '[[[['].map((text) => [text, JSON_TYPE] as const),
    ['payload={', FORM],
    ['{}', 'text/plain'],
    [`{"type":"event_callback","event":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, JSON_TYPE],
  ] as const;
  const statuses = await Promise.all(bodies.map(([body, type]) => fake.sendSigned(body, type)));
  expect(statuses.filter((status) => ![200, 400, 401, 404, 500, 503].includes(status))).toEqual([]);
  await expectAnswering(fake);
  expect(fatal).toEqual([]);
});

test('whatever comes over the socket, the next command is answered, and no error is left to nobody', async () => {
  const { fake, fatal } = await runSlack();
  const types = ['events_api', 'interactive', 'slash_commands', 'hello', 'nothing known', null, 7];
  for (const type of types) {
    for (const payload of ODD_PAYLOADS) {
      fake.frame(JSON.stringify({ envelope_id: 'e', type, payload }));
    }
    for (const odd of ODD) {
      fake.frame(JSON.stringify({ envelope_id: odd, type, payload: odd, retry_attempt: odd }));
      fake.frame(JSON.stringify({ type, reason: odd, debug_info: odd }));
    }
  }
  for (const text of ['', '{', 'null', '0', '"x"', '[]', '{}', '\u0000', '['.repeat(100_000)]) {
    fake.frame(text);
  }
  await expectAnswering(fake);
  expect(fatal).toEqual([]);
});
