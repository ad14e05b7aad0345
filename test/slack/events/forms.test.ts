import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';
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

/** A workspace over the real service with one monitor, whose people may change it. */
async function runWithShop() {
  const service = await startService();
  const { id } = await service.create({
    name: 'My shop',
    check_type: 'TCP',
    target: '127.0.0.1:9',
    config: { send: 'AUTH s3cret', expect: 'OK' },
  });
  const settings = { mayManage: 'everyone' as const };
  const running = await runSlack({ bot: { watched: service, settings } });
  return {
    ...running,
    configOf: async () => (await service.get(`/api/v1/public/monitors/${id}`)).body.config,
  };
}

test('“/monitor change” with a name opens its form with the settings now, and stores the new ones', async () => {
  const { fake, configOf } = await runWithShop();
  await fake.slash('/monitor', 'change my shop');
  const { view, values } = await eventually(() => fake.form());
  expect(view.title.text).toBe('Change a monitor');
  expect(inputs(fake)).toEqual(['name', 'target', 'interval', 'expect', 'send', 'tags', 'timeout']);
  expect(Object.fromEntries(values)).toMatchObject({
    name: 'My shop',
    interval: '1m',
    expect: 'OK',
  });
  expect(JSON.stringify(view)).not.toContain('s3cret');
  await fake.submit({ interval: '5m', expect: '' });
  const [message] = await eventually(() => {
    const shown = fake.messages(CHANNEL);
    return shown.length > 0 && shown;
  });
  const text = message ? shownText(message) : '';
  expect(text).toContain('My shop was changed');
  expect(text).toContain('1 minute → 5 minutes');
  expect(await configOf()).toMatchObject({ interval_seconds: 300, send: '…' });
  expect(await configOf()).not.toHaveProperty('expect');
});

test('the button under a monitor opens its form and says nothing else, unless Slack shows none', async () => {
  const { fake } = await runWithShop();
  await fake.slash('/monitor', 'show my shop');
  await eventually(() => fake.messages(CHANNEL).length > 0);
  await fake.press('Change');
  expect((await eventually(() => fake.form())).view.title.text).toBe('Change a monitor');
  expect(fake.whispers(CHANNEL)).toEqual([]);
  await fake.submit({});
  await eventually(() => fake.whispers(CHANNEL).length === 1);
  expect(fake.whispers(CHANNEL)[0]).toContain('My shop already has these settings');
  fake.fail('views.open', { kind: 'error', error: 'expired_trigger_id' });
  await fake.press('Change');
  await eventually(() => fake.whispers(CHANNEL).some((one) => one.includes('Name the settings')));
});
