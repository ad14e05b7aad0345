import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type Fault, startSlack } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import { eventually } from '../../helpers/eventually.ts';
import { addFlappingShop } from '../../helpers/flapping-shop.ts';
import { makeSlack, runSlack, WATCHING } from '../../helpers/slack/running-slack.ts';

const CARD: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const post = { channel: CHANNEL, card: CARD, id: 'alert-1', attempted: false };

async function deliveryError(promise: Promise<unknown>): Promise<DeliveryError> {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  return error as DeliveryError;
}

describe('an alert', () => {
  test('is posted with its id, and changed in place', async () => {
    const { fake, slack } = await makeSlack();
    const posted = await slack.post(post);
    expect(posted.thread).toBe(posted.message);
    expect(fake.messages(CHANNEL)[0]).toMatchObject({
      ts: posted.message,
      metadata: { event_type: 'askwatch_alert', event_payload: { id: 'alert-1' } },
    });
    await slack.update(CHANNEL, posted, { tone: 'good', title: 'Shop is up', parts: [] });
    expect(fake.messages(CHANNEL).map(shownText)).toEqual(['🟢 Shop is up']);
    expect(fake.unhandled).toEqual([]);
  });

  /** A message of an earlier process that is still under way, and another process that looks it up. */
  async function startLooking() {
    const { fake, slack } = await makeSlack();
    const posted = await slack.post(post);
    const arrived = fake.channel(CHANNEL).messages;
    const late = arrived.splice(0);
    const posting = slack.post({ ...post, attempted: true, landsInMs: 1_000 });
    await eventually(() => fake.calls.some(({ method }) => method === 'conversations.history'));
    return { fake, posted, posting, arrive: () => arrived.push(...late) };
  }

  test('is found by the second look if it arrives after the first', async () => {
    const { fake, posted, posting, arrive } = await startLooking();
    arrive();
    expect(await posting).toEqual(posted);
    expect(fake.messages(CHANNEL)).toHaveLength(1);
  });

  test('says that it may be a repeat if Slack lets nobody look a second time', async () => {
    const { fake, posting } = await startLooking();
    fake.fail('conversations.history', { kind: 'limited', retryAfterSeconds: 60 });
    await posting;
    expect(fake.messages(CHANNEL).map(shownText)).toEqual([
      expect.stringContaining('(possible repeat)'),
    ]);
  });

  test.each<Fault>([
    { kind: 'status', status: 503, stored: true },
    { kind: 'drop', stored: true },
  ])('that was stored in spite of %j is found, not posted again', async (fault) => {
    const { fake, slack } = await makeSlack();
    fake.fail('chat.postMessage', fault);
    expect((await deliveryError(slack.post(post))).permanent).toBe(false);
    const posted = await slack.post({ ...post, attempted: true });
    expect(fake.messages(CHANNEL).map(({ ts }) => ts)).toEqual([posted.message]);
  });

  test.each([true, false])(
    'that is found says whether what it shows goes on: %s',
    async (goesOn) => {
      const { fake, slack } = await makeSlack();
      fake.fail('chat.postMessage', { kind: 'drop', stored: true });
      await deliveryError(slack.post({ ...post, card: { ...CARD, goesOn } }));
      const later = { ...post, attempted: true, card: { ...CARD, goesOn: !goesOn } };
      expect(await slack.post(later)).toMatchObject({ goesOn });
      expect(await slack.post({ ...later, id: 'another' })).toMatchObject({ goesOn: !goesOn });
      expect(fake.messages(CHANNEL)).toHaveLength(2);
    },
  );

  test('is found among many newer messages', async () => {
    const { fake, slack } = await makeSlack();
    const { message } = await slack.post(post);
    for (let n = 0; n < 450; n += 1)
      fake.channel(CHANNEL).messages.push({ ts: `${9e9 + n}.000001`, text: 'x', edits: 0 });
    expect(await slack.post({ ...post, attempted: true })).toMatchObject({ message });
  });

  test.each([
    ['among the few that an app outside the Marketplace reads', 5, ''],
    ['or may be beyond them', 20, ' (possible repeat)'],
  ])('is found %s', async (_where, newer, mark) => {
    const fake = await startSlack(undefined, { distributed: true });
    const { slack } = await makeSlack({ fake });
    fake.clock.set(0);
    const { message } = await slack.post(post);
    for (let n = 0; n < newer; n += 1)
      fake.channel(CHANNEL).messages.push({ ts: `${9e9 + n}.000001`, text: 'x', edits: 0 });
    const posted = await slack.post({ ...post, attempted: true });
    if (mark === '') expect(posted).toMatchObject({ message });
    expect(fake.messages(CHANNEL).at(-1)?.text).toContain(mark || 'x');
    expect(fake.messages(CHANNEL)).toHaveLength(newer + (mark === '' ? 1 : 2));
  });

  test('that was attempted and is nowhere is posted', async () => {
    const { fake, slack } = await makeSlack();
    await slack.post({ ...post, id: 'another' });
    await slack.post({ ...post, attempted: true });
    expect(fake.messages(CHANNEL).map(shownText)).toEqual(['🔴 Shop is down', '🔴 Shop is down']);
  });

  test('that may have been posted says so where the bot may not read', async () => {
    const { fake, slack } = await makeSlack();
    fake.scopes.delete('channels:history');
    await slack.post({ ...post, attempted: true });
    const [message] = fake.messages(CHANNEL);
    expect(message && shownText(message)).toContain('(possible repeat)');
    expect(message?.text).toContain('(possible repeat)');
  });

  test('that may have been posted is not posted blindly when the look-up fails', async () => {
    const { fake, slack } = await makeSlack();
    fake.fail('conversations.history', { kind: 'status', status: 500 });
    expect((await deliveryError(slack.post({ ...post, attempted: true }))).permanent).toBe(false);
    expect(fake.messages(CHANNEL)).toEqual([]);
  });
});

describe('a refusal is for good, and says what to do', () => {
  test.each([
    ['is_archived', /Unarchive/],
    ['restricted_action', /admin/],
    ['missing_scope', /OAuth & Permissions/],
    ['msg_too_long', /too long/],
    ['some_new_reason', /some_new_reason/],
  ])('%s', async (error, sentence) => {
    const { fake, slack } = await makeSlack();
    fake.fail('chat.postMessage', { kind: 'error', error });
    const refused = await deliveryError(slack.post(post));
    expect(refused.permanent).toBe(true);
    expect(refused.message).toMatch(sentence);
  });

  test('a channel that is not there, or that the bot is not in', async () => {
    const { fake, slack } = await makeSlack();
    fake.addChannel({ id: 'C00ELSEWHERE', member: false });
    for (const channel of ['C00ELSEWHERE', 'C00NOWHERE']) {
      for (const attempted of [false, true]) {
        const refused = await deliveryError(slack.post({ ...post, channel, attempted }));
        expect(refused).toMatchObject({ permanent: true });
        expect(refused.message).toContain('/invite');
      }
    }
  });

  test('a message that was deleted cannot be changed', async () => {
    const { slack } = await makeSlack();
    const gone = { message: '1.000001', thread: '1.000001' };
    expect(await deliveryError(slack.update(CHANNEL, gone, CARD))).toMatchObject({
      permanent: true,
      message: 'The message was deleted.',
    });
  });

  test('a revoked token ends the program too', async () => {
    const { fake, slack, fatal } = await makeSlack();
    fake.revoke('bot');
    expect((await deliveryError(slack.post(post))).permanent).toBe(true);
    expect(fatal.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^SLACK_BOT_TOKEN: .*token_revoked/),
    ]);
  });

  test('a refusal of the token that Slack takes back ends nothing', async () => {
    const { fake, slack, fatal } = await makeSlack();
    fake.fail('chat.postMessage', { kind: 'error', error: 'invalid_auth' });
    await deliveryError(slack.post(post));
    expect(fatal).toEqual([]);
  });
});

describe('trouble is for a while', () => {
  test.each<Fault>([
    { kind: 'status', status: 500 },
    { kind: 'drop' },
    { kind: 'error', error: 'internal_error' },
  ])('%j', async (fault) => {
    const { fake, slack } = await makeSlack();
    fake.fail('chat.postMessage', fault);
    expect(await deliveryError(slack.post(post))).toMatchObject({ permanent: false });
    fake.fail('chat.update', fault);
    const posted = await slack.post(post);
    expect(await deliveryError(slack.update(CHANNEL, posted, CARD))).toMatchObject({
      permanent: false,
    });
  });

  test('a limit says for how long, and Slack is not asked again before', async () => {
    const { fake, slack } = await makeSlack();
    fake.addChannel({ id: 'C00OTHER' });
    fake.fail('chat.postMessage', { kind: 'limited', retryAfterSeconds: 30 });
    expect(await deliveryError(slack.post(post))).toMatchObject({
      permanent: false,
      retryAfterMs: 30_000,
    });
    const again = await deliveryError(slack.post(post));
    expect(again.retryAfterMs).toBeGreaterThan(20_000);
    expect(fake.calls).toHaveLength(1);
    await slack.post({ ...post, channel: 'C00OTHER' });
  });
});

test('alerts of a channel keep their order, and a channel that hangs holds up no other', async () => {
  const { fake, slack } = await makeSlack();
  fake.addChannel({ id: 'C00STUCK' });
  fake.fail('chat.postMessage', { kind: 'hang' }, { channel: 'C00STUCK' });
  let answered = false;
  const stuck = deliveryError(slack.post({ ...post, channel: 'C00STUCK' }));
  void stuck.then(() => {
    answered = true;
  });
  const titles = Array.from({ length: 8 }, (_, n) => `Monitor ${n} is down`);
  await Promise.all(
    titles.map((title) => slack.post({ ...post, id: title, card: { ...CARD, title } })),
  );
  expect(fake.messages(CHANNEL).map(shownText)).toEqual(titles.map((title) => `🔴 ${title}`));
  expect(answered).toBe(false);
});

test('a status change becomes an alert, and the same message tells of the recovery', async () => {
  const { fake, bot } = await runSlack({
    bot: { settings: { ...WATCHING, alertPlaces: [{ platform: 'slack', channel: CHANNEL }] } },
  });
  const shop = bot.service.add({ name: 'Shop <!channel>' });
  const polls = () => bot.service.requests.length;
  const before = polls();
  await eventually(() => polls() > before + 2);
  bot.service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => fake.messages(CHANNEL)[0]);
  expect(shownText(alert)).toContain('Shop <!channel>');
  expect(JSON.stringify(alert.text)).not.toContain('<!');
  expect(shownText(alert)).toContain('🔴');
  bot.service.setStatus(shop.id, 'UP');
  await eventually(() => shownText(alert).includes('🟢'));
  expect(fake.messages(CHANNEL)).toHaveLength(1);
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
});

test('what flapped and stays DOWN is a new message with its buttons, and the old one ends', async () => {
  const { fake, bot } = await runSlack({
    bot: { settings: { ...WATCHING, alertPlaces: [{ platform: 'slack', channel: CHANNEL }] } },
  });
  const shop = await addFlappingShop(bot.service);
  const isFlap = (message: Message) => /Shop is flapping .*, now down/.test(shownText(message));
  const flapping = await eventually(() => fake.messages(CHANNEL).find(isFlap));
  expect(labelsOf(flapping)).toContain('Acknowledge');
  const before = fake.messages(CHANNEL).length;
  shop.staysDown();
  const alert = await eventually(() => fake.messages(CHANNEL)[before]);
  expect(shownText(alert)).toContain('🔴 Shop is down');
  expect(labelsOf(alert)).toEqual(expect.arrayContaining(['Acknowledge', 'Snooze 1 h', 'Ask why']));
  await eventually(() => shownText(flapping).includes('then stayed down'));
  expect(shownText(flapping)).toContain('below');
  expect(labelsOf(flapping)).toEqual(['Summarise', 'Open shop.example']);
  expect(fake.thread(CHANNEL, flapping.ts)).toEqual([]);
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
});
