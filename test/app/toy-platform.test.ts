import { expect, onTestFinished, test } from 'vitest';
import { createPlatformSupervisor, type MadePlatform } from '../../src/app/platform-supervisor.ts';
import { registration } from '../../src/app/platforms/registration.ts';
import { platforms } from '../../src/app/platforms.ts';
import type { Bot } from '../../src/bot/platform.ts';
import type { Card } from '../../src/bot/shared/card.ts';
import { openPlatformLimits } from '../../src/bot/shared/platform-limits.ts';
import { readSettings } from '../../src/config/settings.ts';
import { secret } from '../../src/config/variable-types.ts';
import { startTestBot } from '../helpers/bot.ts';
import { eventually } from '../helpers/eventually.ts';
import { recordingLog } from '../helpers/recording-log.ts';

/** All that a chat platform has to be: one that exists nowhere but here, so no file of the program knows its name. */
function createToy() {
  const shown: string[] = [];
  const posted: Array<{ channel: string; title: string }> = [];
  const post = (channel: string, { title }: Card) => posted.push({ channel, title });
  let bot: Bot | undefined;
  let lines = 0;

  const platform: MadePlatform = {
    name: 'toy',
    async start(given) {
      bot = given;
    },
    async stop() {
      bot = undefined;
    },
    async post({ channel, card, id }) {
      post(channel, card);
      return { message: id, thread: id };
    },
    async update(channel, _posted, card) {
      post(channel, card);
    },
    async announce({ channel, card }) {
      post(channel, card);
    },
  };

  /** A person types a line in a channel. */
  async function type(line: string) {
    lines += 1;
    const reply = await bot?.dispatch({
      id: `toy:${lines}`,
      request: { line },
      place: { platform: 'toy', channel: 'garden' },
      person: { id: 'ada', name: 'Ada' },
    });
    if (reply?.kind === 'card') shown.push(reply.card.title);
    if (reply?.kind !== 'answer') return;
    await reply.begin({ thread: `thread ${lines}` });
    for await (const part of reply.stream(`thread ${lines}`)) {
      if (part.kind === 'text') shown.push(part.text);
      else if (part.kind === 'end') shown.push(`(${part.footer})`);
    }
    await reply.ended();
  }
  return { platform, type, shown, posted };
}

/** The program's settings where the table of platforms has one row more, which this is. */
function settingsWith(toy: MadePlatform, env: Record<string, string>) {
  const row = registration({
    name: 'toy',
    title: 'Toy',
    examples: { channel: 'toy:hall' },
    variables: { bell: secret('TOY_BELL', 'what the bell of the toy is called by') },
    problems: (_values, { channels }) => [
      [channels.includes('cellar'), 'ALERT_CHANNELS: nobody hears anything in the cellar'],
    ],
    configure: ({ bell }) =>
      bell === undefined
        ? undefined
        : { settings: {}, load: async () => {}, create: async () => toy, check: async () => [] },
  });
  return readSettings(env, [...platforms, row]);
}

test('A row of the table adds a platform: it starts, asks, lists monitors, and receives an alert', async () => {
  const toy = createToy();
  const settings = settingsWith(toy.platform, {
    TOY_BELL: 'ding',
    ALERT_CHANNELS: 'toy:hall',
  });
  expect(settings.secrets).toEqual(['ding']);

  const { bot, provider, service, store } = await startTestBot({
    settings: { ...settings.bot, alertPollMs: 50 },
  });
  const { log } = recordingLog();
  const onFatal = (error: Error) => {
    throw error;
  };
  const limits = await openPlatformLimits({ platform: 'toy', log });
  const program = { store, isHeld: () => true, limits, allowPrivate: [], log, onFatal };
  const running = await createPlatformSupervisor({ log }).supervise(
    async () => settings.platforms.get('toy')?.create(program) ?? fail(),
    onFatal,
  );
  await running.start(bot);
  await bot.start([running]);
  onTestFinished(() => running.stop());

  const release = provider.holdChunks(1);
  provider.answerWith(['Light ', 'scatters.']);
  const answered = toy.type('/ask why is the sky blue?');
  // The first words are shown while the rest is still to come.
  await eventually(() => toy.shown.length === 1);
  expect(toy.shown).toEqual(['Light ']);
  release();
  await answered;
  const [, second, end] = toy.shown.splice(0);
  expect(second).toBe('scatters.');
  expect(end).toMatch(/^\(.+ · .+\)$/);

  const { id } = service.add({ name: 'Shop' });
  await toy.type('/monitor list');
  await toy.type('/monitor alerts on mention=@everyone');
  expect(toy.shown).toEqual(['1 monitor: 1 UP', '/monitor alerts did not work']);

  // One that is down at its first poll is reported, too, but as found so.
  const polls = () => service.requests.filter(({ method }) => method === 'GET').length;
  const before = polls();
  await eventually(() => polls() > before + 1);
  service.setStatus(id, 'DOWN');
  await eventually(() => toy.posted.some(({ title }) => title === 'Shop is down'));
  service.setStatus(id, 'UP');
  await eventually(() => toy.posted.some(({ title }) => title.startsWith('Shop recovered after ')));
  expect(new Set(toy.posted.map(({ channel }) => channel))).toEqual(new Set(['hall']));
});

test('An error in the settings of a platform is explained in the words of that platform', () => {
  const { platform } = createToy();
  expect(() => settingsWith(platform, { ALERT_CHANNELS: 'toy:cellar' })).toThrow(
    'nobody hears anything in the cellar',
  );
  expect(() => settingsWith(platform, { ALERT_CHANNELS: 'top:hall' })).toThrow('or toy:hall');
});

function fail(): never {
  throw new Error('The toy is not set up.');
}
