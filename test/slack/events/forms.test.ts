import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

/** Types `/monitor add` with nothing after it. */
async function openForm(fake: SlackFake) {
  await fake.slash('/monitor', 'add');
  return await eventually(() => fake.form());
}

const inputs = (fake: SlackFake) => fake.form()?.view.blocks.map(({ block_id }) => block_id);

test('over HTTP “/monitor add” alone opens a form, and what is filled in is a monitor', async () => {
  const { fake, bot } = await runSlack({ mode: 'http' });
  const { view } = await openForm(fake);
  expect(view.title.text).toBe('Add a monitor');
  expect(inputs(fake)).toEqual(['type', 'target', 'name', 'interval', 'json']);
  await fake.submit({ target: 'https://shop.example', name: 'Shop', interval: '30' });
  expect(fake.form()).toBeUndefined();
  const [message] = await eventually(() => {
    const shown = fake.messages(CHANNEL);
    return shown.length > 0 && shown;
  });
  expect(message && shownText(message)).toContain('Now watching Shop');
  expect(bot.service.monitors).toMatchObject([
    { name: 'Shop', check_type: 'HTTP', target: 'https://shop.example' },
  ]);
  expect(fake.unhandled).toEqual([]);
});

test('the inputs go with the kind of check, and what was typed stays', async () => {
  const { fake, bot } = await runSlack();
  const form = await openForm(fake);
  form.values.set('target', 'shop.example');
  await fake.choose('type', 'KEYWORD');
  await eventually(() => inputs(fake)?.includes('keyword'));
  expect(fake.form()?.values.get('target')).toBe('shop.example');
  const keyword = fake.form()?.view.blocks.find(({ block_id }) => block_id === 'keyword');
  expect(keyword?.optional).toBe(false);
  await fake.choose('type', 'DNS');
  await eventually(() => inputs(fake)?.includes('record'));
  expect(inputs(fake)).toEqual(['type', 'target', 'name', 'interval', 'record']);
  await fake.submit({ record: 'MX' });
  await eventually(() => bot.service.monitors.length === 1);
  expect(bot.service.monitors[0]).toMatchObject({ check_type: 'DNS', target: 'shop.example' });
});

test('what is wrong is said where it stands, and nothing is made of it', async () => {
  const { fake, bot } = await runSlack();
  await openForm(fake);
  await fake.submit({ target: 'ftp://shop.example' });
  expect(fake.form()?.errors.target).toContain('is not a web address');
  await fake.submit({ target: 'https://shop.example', interval: '1' });
  expect(fake.form()?.errors.interval).toContain('“1” is 1 second. Choose 5 seconds to');
  await fake.submit({ interval: '60' });
  await eventually(() => bot.service.monitors.length === 1);
  expect(fake.form()).toBeUndefined();
});
test('the reply explains the typed command if Slack opens no form', async () => {
  const { fake, bot } = await runSlack();
  fake.fail('views.open', { kind: 'error', error: 'expired_trigger_id' });
  await fake.slash('/monitor', 'add');
  const [whisper] = await eventually(() => {
    const seen = fake.whispers(CHANNEL);
    return seen.length > 0 && seen;
  });
  expect(whisper).toContain('How to use /monitor add');
  expect(bot.service.monitors).toEqual([]);
});

test('a form of somebody else is left alone', async () => {
  const { fake, lines } = await runSlack();
  const view = {
    id: 'V1',
    hash: '1',
    callback_id: 'askwatch-form',
    private_metadata: '{',
    state: {},
  };
  const ack = await fake.interact({ type: 'view_submission', user: { id: 'U1' }, view });
  expect(ack.ms).toBeDefined();
  expect(fake.messages(CHANNEL)).toEqual([]);
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
