import { expect, test } from 'vitest';
import { commands } from '../../../src/bot/features.ts';
import { isShowable, renderForm } from '../../../src/slack/render/render-form.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const ADMIN = 'U00GRACE';

async function runWithAdmin(options: Parameters<typeof runSlack>[0] = {}) {
  const running = await runSlack(options);
  running.fake.profiles.set(ADMIN, { is_admin: true });
  return running;
}

const whispered = async (fake: SlackFake, user: string, text: string) =>
  await eventually(() => fake.whispers(CHANNEL, user).some((one) => one.includes(text)));
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
