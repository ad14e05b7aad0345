import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type Fault, startSlack } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

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

  test('has edits left in a minute in which a message below it takes all that it gets', async () => {
    // No edit of the test leaves the minute.
    const { fake, slack } = await makeSlack({ editMs: 60_000 });
    const posted = await slack.post(post);
    const below = await slack.post({ ...post, id: 'below', under: posted });
    const changed = () => fake.calls.filter(({ method }) => method === 'chat.update').length;
    const changeAll = async () => {
      while (changed() < 50) await slack.update(CHANNEL, below, CARD);
    };
    expect((await deliveryError(changeAll())).message).toBe('Slack is rate limiting the bot.');
    expect(changed()).toBe(20);
    await slack.update(CHANNEL, posted, CARD);
    expect(changed()).toBe(21);
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

  test('an alert that may be a repeat says so', async () => {
    const { fake, slack } = await makeSlack();
    fake.scopes.delete('channels:history');
    await slack.post({ ...post, attempted: true });
    const [message] = fake.messages(CHANNEL);
    expect(message && shownText(message)).toContain('(possible repeat)');
    expect(message?.text).toContain('(possible repeat)');
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
