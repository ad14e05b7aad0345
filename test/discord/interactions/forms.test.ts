import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { shownIn } from '../../fakes/discord/forms.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

async function start(options: TestBotOptions = {}) {
  const running = await runDiscord({ bot: options });
  /** Inputs of a form with their values. */
  async function formOf(interaction: FakeInteraction) {
    const form = await eventually(() => interaction.form);
    return Object.fromEntries(
      form.components.map(({ component }) => [component.custom_id, shownIn(component)]),
    );
  }
  /** The private message that says what is wrong, once it is there. */
  const wrongIn = (sent: FakeInteraction) =>
    eventually(() =>
      [sent.reply, ...sent.followUps].find(
        (message) => message && (message.flags & MessageFlags.Ephemeral) !== 0,
      ),
    );
  return { ...running, formOf, wrongIn };
}

test('/monitor add alone opens a form at once, which adds a monitor of the kind that is meant', async () => {
  const { discord, service, formOf } = await start();
  const opened = discord.slash('monitor add');
  expect(await formOf(opened)).toEqual({
    type: '',
    target: '',
    name: '',
    interval: '',
    keyword: '',
  });
  expect(opened.form?.title).toBe('Add a monitor');
  expect(service.requests).toEqual([]);
  const target = 'https://shop.example';
  const sent = [
    discord.send(opened, { target, name: 'Shop' }),
    discord.send(opened, { target, keyword: 'Cart', interval: '30' }),
    discord.send(opened, { target: 'shop.example', type: 'DNS' }),
  ];
  for (const one of sent) {
    const shown = await eventually(() =>
      [one.reply, ...one.followUps].find((message) => message?.embeds[0]),
    );
    expect(shown.embeds[0]?.title).toMatch(/^Now watching /);
    // A valid form isn't opened again.
    expect(shown.components).toEqual([]);
  }
  const kinds = service.monitors.map(({ check_type }) => check_type).sort();
  expect(kinds).toEqual(['DNS', 'HTTP', 'KEYWORD']);
});

test('what was typed already stands in the form, which asks for what goes with the kind', async () => {
  const { discord, formOf } = await start();
  expect(await formOf(discord.slash('monitor add', { name: 'Shop' }))).toMatchObject({
    name: 'Shop',
    keyword: '',
  });
  expect(await formOf(discord.slash('monitor add', { type: 'DNS', interval: '60' }))).toEqual({
    type: 'DNS',
    target: '',
    name: '',
    interval: '60',
    record: '',
  });
  expect(await formOf(discord.slash('monitor add', { type: 'HEARTBEAT' }))).toEqual({
    type: 'HEARTBEAT',
    target: '',
    name: '',
    interval: '',
    cron: '',
  });
});

test('an error is shown privately, and the form opens again as it was filled in', async () => {
  const { discord, service, formOf, wrongIn } = await start();
  const opened = discord.slash('monitor add');
  await formOf(opened);
  const filled = { target: 'ftp://shop.example', name: '@everyone *Shop*', interval: 'often' };
  const sent = discord.send(opened, filled);
  const wrong = await wrongIn(sent);
  expect(wrong.embeds[0]?.description).toContain('Use 30s, 5m, 2h or 1d');
  expect(service.requests).toEqual([]);
  expect(discord.channel(discord.general.id)).toEqual([]);

  const again = discord.press(wrong, 'Reopen the form');
  expect(await formOf(again)).toMatchObject(filled);
  const better = discord.send(again, { interval: '60' });
  expect((await wrongIn(better)).embeds[0]?.description).toContain('is not a web address');
  const last = discord.press(await wrongIn(better), 'Reopen the form');
  expect(await formOf(last)).toMatchObject({ ...filled, interval: '60' });
  const right = discord.send(last, { target: 'https://shop.example' });
  const reply = await eventually(() => right.reply?.embeds[0] && right.reply);
  expect(reply.flags & MessageFlags.Ephemeral).toBe(0);
  expect(service.monitors).toMatchObject([
    { target: 'https://shop.example', interval_seconds: 60 },
  ]);
});
test('a monitor of a filled form has its alerts in its channel, and one sent twice is added once', async () => {
  const { discord, service, formOf, bot, platform } = await start();
  const thread = discord.openThread(discord.say('Hello'));
  const opened = discord.slash('monitor add', {}, { channel: thread });
  await formOf(opened);
  const sent = discord.send(opened, { target: 'https://shop.example', name: 'Shop' });
  await eventually(() => sent.reply?.embeds[0]);
  discord.repeat(sent);
  await bot.start([platform]);
  await eventually(() => service.requests.filter(({ method }) => method === 'GET').length > 1);
  service.setStatus(service.monitors[0]?.id ?? '', 'DOWN');
  const alert = await eventually(() => discord.channel(discord.general.id)[1]);
  expect(JSON.stringify(alert.embeds)).toMatch(/Shop.* is down/);
  expect(service.monitors).toHaveLength(1);
});

test('/monitor change with a monitor opens its form, which changes it for everyone to see', async () => {
  const service = await startService();
  const { id } = await service.create({
    name: 'My shop',
    check_type: 'CERTIFICATE',
    target: '127.0.0.1:9',
  });
  const { discord, formOf } = await start({
    watched: service,
    settings: { mayManage: 'everyone' },
  });
  const opened = discord.slash('monitor change', { monitor: id });
  const values = { name: 'My shop', target: '127.0.0.1:9', interval: '1h', days: '14' };
  expect(await formOf(opened)).toEqual({ ...values, starttls: '' });
  const sent = discord.send(opened, { ...values, interval: '2h', days: '30', starttls: 'smtp' });
  const shown = await eventually(() => sent.reply?.embeds[0] && sent.reply);
  expect(shown.flags & MessageFlags.Ephemeral).toBe(0);
  expect(JSON.stringify(shown.embeds)).toContain('1 hour → 2 hours');
  const { body } = await service.get(`/api/v1/public/monitors/${id}`);
  expect(body.config).toMatchObject({ interval_seconds: 7200, days_left: 30, starttls: 'smtp' });
  const again = discord.slash('monitor change', { monitor: 'my shop', interval: '3h' });
  await eventually(() => JSON.stringify(again.reply?.embeds ?? '').includes('2 hours → 3 hours'));
});
