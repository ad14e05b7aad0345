import { expect, test } from 'vitest';
import { commands } from '../../../src/bot/commands/commands.ts';
import { isShowable, renderForm } from '../../../src/slack/render/render-form.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const ADMIN = 'U00GRACE';

async function runWithAdmin(options: Parameters<typeof runSlack>[0] = {}) {
  const running = await runSlack(options);
  running.fake.profiles.set(ADMIN, { is_admin: true });
  return running;
}

/** Types a command with nothing after it, as the admin. */
async function openForm(fake: SlackFake, text: string) {
  await fake.slash('/askwatch', text, { user: ADMIN });
  return await eventually(() => fake.form());
}

const inChannel = async (fake: SlackFake, text: string) =>
  await eventually(() => fake.messages(CHANNEL).some((one) => shownText(one).includes(text)));

const whispered = async (fake: SlackFake, user: string, text: string) =>
  await eventually(() => fake.whispers(CHANNEL, user).some((one) => one.includes(text)));

test('“/askwatch model” alone opens a form with today’s model and all there are', async () => {
  const { fake } = await runWithAdmin();
  const { view, values } = await openForm(fake, 'model');
  expect(view.title.text).toBe("This channel's model");
  expect(view.blocks[0]?.element.options?.map(({ value }) => value)).toEqual([
    'default',
    'test-model',
    'test-vision',
  ]);
  expect(values.get('model')).toBe('default');
  await fake.submit({ model: 'test-vision' });
  await inChannel(fake, 'test-vision answers here from now on');
  expect((await openForm(fake, 'model')).values.get('model')).toBe('test-vision');
  expect(fake.unhandled).toEqual([]);
});

test('“/askwatch prompt” alone opens a form with today’s prompt, in several lines', async () => {
  const { fake } = await runWithAdmin();
  await openForm(fake, 'prompt');
  const prompt = 'Be brief.\n<!channel> & <https://evil.example|here>';
  await fake.submit({ prompt });
  await inChannel(fake, "This channel's prompt has changed");
  const { view, values } = await openForm(fake, 'prompt');
  expect(view.blocks[0]?.element.multiline).toBe(true);
  expect(values.get('prompt')).toBe(prompt);
  expect(fake.messages(CHANNEL).flatMap(({ called = [] }) => called)).toEqual([]);
});

test('who may not change it is told what is set, and so is everybody by the word show', async () => {
  const { fake } = await runWithAdmin();
  await fake.slash('/askwatch', 'model');
  await whispered(fake, 'U00ADA', 'test-model answers here');
  expect(fake.form()).toBeUndefined();
  await fake.slash('/askwatch', 'model show', { user: ADMIN });
  await whispered(fake, ADMIN, 'test-model answers here');
  expect(fake.form()).toBeUndefined();
});

test('who was an admin when the form opened, and is none when it is sent, changes nothing', async () => {
  const { fake } = await runWithAdmin();
  await openForm(fake, 'model');
  fake.profiles.set(ADMIN, {});
  await fake.submit({ model: 'test-vision' });
  await whispered(fake, ADMIN, 'Only people who can manage this channel can');
  await fake.slash('/askwatch', 'model');
  await whispered(fake, 'U00ADA', 'test-model answers here');
});

test('a prompt too long for a form is shown, and can be typed', async () => {
  const { fake, bot } = await runWithAdmin();
  const prompt = 'Be brief. '.repeat(350).trim();
  const person = { id: ADMIN, name: 'grace', mayManage: async () => true };
  await bot.bot.dispatch({
    id: 'long:1',
    request: { command: 'askwatch prompt', values: { prompt } },
    place: { platform: 'slack', channel: CHANNEL },
    person,
  });
  await fake.slash('/askwatch', 'prompt', { user: ADMIN });
  await whispered(fake, ADMIN, "This channel's prompt");
  expect(fake.form()).toBeUndefined();
});

test('models that Slack cannot offer in full are typed', () => {
  const command = commands.find(({ name }) => name === 'askwatch model');
  if (!command) throw new Error('There is no such command.');
  const kindOf = (models: string[]) => {
    const begin = { values: { model: 'a' }, choices: { model: models } };
    const { blocks } = renderForm(command, { command: command.name, channel: 'C1' }, { begin });
    return (blocks[0] as { element?: { type: string } }).element?.type;
  };
  expect(kindOf(['a', 'b'])).toBe('static_select');
  expect(kindOf(Array.from({ length: 101 }, (_, index) => `model-${index}`))).toBe(
    'plain_text_input',
  );
  expect(kindOf(['a', 'x'.repeat(76)])).toBe('plain_text_input');
});

test('every form has a title that Slack takes whole', () => {
  const forms = commands.flatMap(({ form }) => (form ? [form] : []));
  expect(forms.length).toBeGreaterThan(2);
  for (const { title, send } of forms)
    expect([title.length <= 24, send.length <= 24]).toEqual([true, true]);
  expect(isShowable({ values: { prompt: 'x'.repeat(3_000) } })).toBe(true);
  expect(isShowable({ values: { prompt: 'x'.repeat(3_001) } })).toBe(false);
});
