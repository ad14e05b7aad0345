import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const ADA = 'U00ADA';
const GRACE = 'U00GRACE';
const SECRET = 'C00SECRET';

/** A workspace whose admin is Grace. */
async function run(options: Parameters<typeof runSlack>[0] = {}) {
  const running = await runSlack(options);
  running.fake.profiles.set(GRACE, { is_admin: true });
  return running;
}

/** Has somebody say something in a channel, and waits until it is answered. */
async function speakIn(fake: SlackFake, user: string, channel = CHANNEL) {
  const before = fake.whispers(channel, user).length;
  await fake.slash('/askwatch', 'help', { user, channel });
  await eventually(() => fake.whispers(channel, user).length > before);
}

/** Opens the home of somebody and waits until it shows something. */
async function openHome(fake: SlackFake, user: string, text: string | RegExp) {
  await fake.home.open({ user });
  return await homeShows(fake, user, text);
}

async function homeShows(fake: SlackFake, user: string, text: string | RegExp) {
  const isThere = (shown: string) =>
    typeof text === 'string' ? shown.includes(text) : text.test(shown);
  return await eventually(() => {
    const shown = fake.home.text(user);
    return isThere(shown) && shown;
  });
}

const publications = (fake: SlackFake) =>
  fake.calls.filter(({ method }) => method === 'views.publish');

test('an empty home tells how to begin, and the tab of messages shows none', async () => {
  const { fake } = await run();
  await fake.home.open({ tab: 'messages' });
  const shown = await openHome(fake, ADA, 'No monitors yet');
  expect(shown).toContain('/ask why is the sky blue?');
  expect(shown).toContain('/monitor add https://example.com');
  expect(fake.home.labels()).toEqual([]);
  expect(publications(fake)).toHaveLength(1);
  expect(fake.unhandled).toEqual([]);
});

test('a change from the home shows there, in the channel and wherever one asks', async () => {
  const { fake } = await run({ mode: 'http' });
  await speakIn(fake, GRACE);
  await openHome(fake, GRACE, 'test-model (default)');
  await fake.home.press('Change model', { user: GRACE });
  const form = await eventually(() => fake.form());
  expect(shownText({ text: '', blocks: form.view.blocks })).toContain(`#${CHANNEL}`);
  expect(form.values.get('model')).toBe('default');
  await fake.submit({ model: 'test-vision' });
  const shown = await homeShows(fake, GRACE, 'Model: test-vision');
  expect(shown).toContain('test-vision answers here from now on');
  const [message] = await eventually(() => {
    const messages = fake.messages(CHANNEL);
    return messages.length > 0 && messages;
  });
  expect(message && shownText(message)).toContain('Changed by grace');
  await fake.slash('/askwatch', 'model');
  await eventually(() =>
    fake.whispers(CHANNEL).some((text) => text.includes('test-vision answers here')),
  );
  expect(fake.unhandled).toEqual([]);
});
test('500 monitors of which 60 are down, and many channels, fit into one home', async () => {
  const { fake, bot } = await run();
  for (let count = 0; count < 500; count += 1) {
    const name = `${count} ${'long name '.repeat(40)}`;
    bot.service.add({
      name,
      status: count < 60 ? 'DOWN' : 'UP',
      target: `https://${count}.example`,
    });
  }
  for (let count = 0; count < 20; count += 1) {
    const channel = `C00MANY${count}`;
    fake.addChannel({ id: channel });
    await speakIn(fake, GRACE, channel);
  }
  const shown = await openHome(fake, GRACE, '500 monitors: 60 DOWN, 440 UP');
  expect(shown).toContain('40 more are down');
  expect(shown).toContain('And 5 channels where you last spoke longer ago.');
  expect(fake.home.labels(GRACE)).toHaveLength(30);
  expect(fake.home.shown(GRACE)?.blocks.length).toBeLessThanOrEqual(100);
});

test('hostile names ping nobody and link nowhere', async () => {
  const { fake, bot } = await run();
  const name = '<!channel> <@U00ADA> *bold* <https://evil.example|bank.example> \u202eecalp';
  bot.service.add({ name, status: 'DOWN', target: 'https://ada:secret@shop.example' });
  await speakIn(fake, ADA);
  await fake.slash('/monitor', 'alerts on <!here>');
  await eventually(() => fake.messages(CHANNEL).length === 1);
  const shown = await openHome(fake, ADA, '<!channel>');
  expect(shown).not.toMatch(/secret|\u202e/);
  const texts = JSON.stringify(fake.home.shown(ADA)?.blocks);
  // Only what Slack does not parse: plain and rich text, whose mentions and links are elements of their own.
  expect(texts).not.toContain('"mrkdwn"');
  for (const type of ['link', 'user', 'usergroup', 'broadcast']) {
    expect(texts).not.toContain(`"type":"${type}"`);
  }
});

test('nobody sees channels where they did not speak', async () => {
  const { fake } = await run();
  fake.addChannel({ id: SECRET, kind: 'private' });
  await speakIn(fake, GRACE, SECRET);
  await speakIn(fake, ADA);
  expect(await openHome(fake, ADA, `#${CHANNEL}`)).not.toContain(SECRET);
  expect(await openHome(fake, GRACE, `#${SECRET}`)).not.toContain(`#${CHANNEL}`);
});

test('who may not change anything sees no buttons, and a forged press is refused', async () => {
  const { fake } = await run();
  fake.addChannel({ id: SECRET, kind: 'private' });
  await speakIn(fake, GRACE, SECRET);
  await speakIn(fake, ADA);
  await openHome(fake, ADA, `#${CHANNEL}`);
  expect(fake.home.labels(ADA)).toEqual([]);
  const press = (place: string) =>
    fake.home.press('Change model', {
      user: ADA,
      value: `home form?${new URLSearchParams({ form: 'askwatch model', place })}`,
    });
  await press(`slack:${CHANNEL}`);
  await homeShows(fake, ADA, 'Only people who can manage this channel can');
  await press(`slack:${SECRET}`);
  await homeShows(fake, ADA, 'Askwatch hasn’t seen you in that channel');
  expect(fake.form()).toBeUndefined();
});

test('a form of a home for a channel that is not theirs, or no longer theirs to change, does nothing', async () => {
  const { fake } = await run();
  fake.addChannel({ id: SECRET, kind: 'private' });
  fake.addChannel({ id: 'D00ADA' });
  await speakIn(fake, GRACE, SECRET);
  await openHome(fake, GRACE, `#${SECRET}`);
  await fake.home.press('Change model', { user: GRACE });
  await eventually(() => fake.form());
  fake.profiles.set(GRACE, {});
  await fake.submit({ model: 'test-vision' });
  await homeShows(fake, GRACE, 'Only people who can manage this channel can');
  // In a direct conversation everyone may; this one is somebody else's.
  const forged = { command: 'askwatch model', channel: 'D00ADA', home: true };
  await fake.interact({
    type: 'view_submission',
    user: { id: GRACE, name: 'grace' },
    view: {
      ...{ id: 'V00FORGED', hash: '1', callback_id: 'askwatch-form' },
      private_metadata: JSON.stringify(forged),
      state: { values: { model: { model: { selected_option: { value: 'test-vision' } } } } },
    },
  });
  const shown = await homeShows(fake, GRACE, 'Askwatch hasn’t seen you in that channel');
  expect(shown).toContain('test-model (default)');
  await fake.slash('/askwatch', 'model show', { channel: 'D00ADA' });
  await eventually(() => fake.whispers('D00ADA').some((text) => text.includes('test-model')));
});

test('a monitoring service that is away is said, and the channels are shown', async () => {
  const { fake, bot } = await run();
  await speakIn(fake, ADA);
  bot.service.failWith({ kind: 'reset' });
  const shown = await openHome(fake, ADA, 'Can’t show what is down');
  expect(shown).toContain('The monitoring service cannot be reached.');
  expect(shown).toContain(`#${CHANNEL}`);
});
test('limits are waited out, and what another process published does not stay', async () => {
  const { fake } = await run();
  fake.fail('views.publish', { kind: 'limited', retryAfterSeconds: 1 });
  await openHome(fake, ADA, 'No monitors yet');
  expect(publications(fake).map(({ outcome }) => outcome)).toEqual(['429', 'ok']);
  fake.home.replace(ADA, [{ type: 'divider' }]);
  await speakIn(fake, ADA);
  await openHome(fake, ADA, `#${CHANNEL}`);
  expect(publications(fake).map(({ outcome }) => outcome)).toEqual([
    ...['429', 'ok'],
    ...['hash_conflict', 'ok'],
  ]);
});

test('what goes wrong with a form or with telling the channel is said in the home', async () => {
  const { fake, bot } = await run();
  await speakIn(fake, GRACE);
  await openHome(fake, GRACE, 'test-model (default)');
  fake.fail('views.open', { kind: 'error', error: 'expired_trigger_id' });
  await fake.home.press('Change model', { user: GRACE });
  await homeShows(fake, GRACE, 'Slack didn’t open the form. Press the button again.');
  await fake.home.press('Change model', { user: GRACE });
  await eventually(() => fake.form());
  fake.channel(CHANNEL).archived = true;
  await fake.submit({ model: 'test-vision' });
  const shown = await homeShows(fake, GRACE, 'Askwatch couldn’t post this in the channel.');
  expect(shown).toContain('Model: test-vision');
  expect(shown).toContain('The channel is archived.');
  await bot.bot.dispatch({
    id: 'long:1',
    request: { command: 'askwatch prompt', values: { prompt: 'x'.repeat(3_500) } },
    place: { platform: 'slack', channel: CHANNEL },
    person: { id: GRACE, name: 'grace', mayManage: async () => true },
  });
  await fake.home.press('Change prompt', { user: GRACE });
  await homeShows(
    fake,
    GRACE,
    'The current text is too long for a form. In the channel, type /askwatch prompt',
  );
});

test('a home that Slack refuses is logged, and the next one is shown', async () => {
  const { fake, lines } = await run();
  fake.fail('views.publish', { kind: 'error', error: 'not_enabled' });
  await fake.home.open();
  await eventually(() => lines.some(({ reason }) => reason === 'not_enabled'));
  await openHome(fake, ADA, 'No monitors yet');
});
