import { expect, test } from 'vitest';
import { type Person, type Place, placeKey } from '../../../src/bot/shared/place.ts';
import { cardOf, startTestBot, type TestBotOptions, textOf } from '../../helpers/bot.ts';

const SLACK: Place = { platform: 'slack', channel: 'C1' };
const manager: Person = { id: 'U1', name: 'Ada', mayManage: async () => true };
const member: Person = { id: 'U2', name: 'Bob', mayManage: async () => false };

async function openChannel(options: TestBotOptions = {}) {
  const bot = await startTestBot(options);
  return {
    ...bot,
    async say(line: string, person = manager) {
      const reply = await bot.say(line, { place: SLACK, person });
      return { text: textOf(cardOf(reply)), isPrivate: reply.kind === 'card' && reply.private };
    },
    stored: async () => (await bot.channelSettings.settingsOf(placeKey(SLACK))).investigate,
  };
}

test('turns investigations on with defaults, shows them, changes them and turns them off', async () => {
  const { say, stored, usageLog } = await openChannel();
  expect((await say('/monitor investigate', member)).text).toContain(
    'Investigations are off in this channel',
  );
  const on = await say('/monitor investigate on');
  expect(on).toMatchObject({ isPrivate: false });
  expect(on.text).toContain(
    'Outages that last 1 minute are investigated, with up to 50,000 tokens a day (UTC). Today they have used 0.',
  );
  expect(await stored()).toEqual({ afterMs: 60_000, tokensPerDay: 50_000 });
  const used = { person: 'investigations', name: 'Investigations', model: 'm', tokens: 1_234 };
  await usageLog.add({ atMs: Date.now(), place: SLACK, ...used });
  const shown = await say('/monitor investigate', member);
  expect(shown).toMatchObject({ isPrivate: true });
  expect(shown.text).toContain('Today they have used 1,234.');
  await say('/monitor investigate on budget=100k/day after=5m');
  expect(await stored()).toEqual({ afterMs: 300_000, tokensPerDay: 100_000 });
  expect((await say('/monitor alerts on')).text).toContain(
    'Outages that last 5 minutes are investigated, with up to 100,000 tokens a day.',
  );
  await say('/monitor investigate off');
  expect(await stored()).toBeUndefined();
});

test('chooses monitors by tags that exist', async () => {
  const { say, stored, service } = await openChannel();
  service.add({ name: 'Shop', tags: ['shop'] });
  expect((await say('/monitor investigate on tags=shop')).text).toContain(
    'Outages of monitors tagged shop that last 1 minute are investigated',
  );
  expect(await stored()).toMatchObject({ tags: ['shop'] });
  expect((await say('/monitor investigate on tags=nope')).text).toContain(
    'No monitor is tagged nope',
  );
});

test.each([
  ['on budget=lots', "I didn't understand the budget “lots”. Write tokens a day"],
  ['on budget=100k/month', 'Write tokens a day, at least 1,000, such as 50k/day.'],
  ['on after=1s', '“after”'],
  ['after=5m', 'These settings only work with “on”: /monitor investigate on after=5m'],
])('refuses /monitor investigate %s and changes nothing', async (words, sentence) => {
  const { say, stored } = await openChannel();
  expect((await say(`/monitor investigate ${words}`)).text).toContain(sentence);
  expect(await stored()).toBeUndefined();
});

test('refuses to turn them on without a model', async () => {
  const { say, stored } = await openChannel({
    models: [{ id: 'fast-8k', owned_by: 'askwatch' }],
  });
  expect((await say('/monitor investigate on')).text).toContain(
    'Investigations need a model, and none is connected.',
  );
  expect(await stored()).toBeUndefined();
});

test('only people who manage the channel change them', async () => {
  const { say, stored } = await openChannel({ settings: { mayManage: 'managers' } });
  expect((await say('/monitor investigate on', member)).text).toContain(
    'can change its investigations',
  );
  expect(await stored()).toBeUndefined();
});
