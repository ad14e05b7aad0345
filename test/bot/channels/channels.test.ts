import { expect, test } from 'vitest';
import { z } from 'zod';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { type Person, type Place, placeKey } from '../../../src/bot/shared/place.ts';
import { cardOf, startTestBot, textOf } from '../../helpers/bot.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const SLACK: Place = { platform: 'slack', channel: 'C1' };
const DISCORD: Place = { platform: 'discord', channel: '123' };
const CONSOLE: Place = { platform: 'console', channel: 'general' };

const anybody: Person = { id: 'U1', name: 'Ada' };
const manager: Person = { ...anybody, mayManage: async () => true };
const member: Person = { ...anybody, mayManage: async () => false };

/** A bot that runs `/monitor alerts …` in a channel, and the stored settings. */
async function openChannel(place: Place = SLACK) {
  const { say, channelSettings } = await startTestBot();
  return {
    async say(words: string, person = manager) {
      const card = cardOf(await say(`/monitor alerts ${words}`, { place, person }));
      return { text: textOf(card), tone: card.tone };
    },
    /** The settings, and the channels that get alerts. */
    stored: async () => [
      await channelSettings.settingsOf(placeKey(place)),
      await channelSettings.places(),
    ],
  };
}

test('the alert settings of a channel are shown in sentences, stay when more are set, and are cleared one by one', async () => {
  const { say } = await openChannel();
  await say('on shop');
  const hears = 'This channel gets alerts for monitors with “shop” in name or target.';
  const quiet =
    'Quiet hours are 22:00–07:00 (Europe/Berlin): new alerts are held and summed up in one message afterwards.';
  const remind = 'Unacknowledged outages are repeated every 4 hours.';
  const mention = 'A new outage mentions @oncall.';
  expect((await say('on quiet=22:00-07:00 zone=europe/berlin')).text).toContain(
    `Alert settings changed\n${hears} ${quiet}\n`,
  );
  expect((await say('on remind=4h')).text).toContain(`${hears} ${quiet} ${remind}\n`);
  const said = await say('on mention=<!subteam^S123|@oncall>', manager);
  expect(said.text).toContain(`${hears} ${quiet} ${remind} ${mention}\n`);
  expect((await say('on quiet=off')).text).toContain(`${hears} ${remind} ${mention}\n`);
  expect((await say('on remind=OFF')).text).toContain(`${hears} ${mention}\n`);
  expect((await say('on mention=off', manager)).text).toContain(`changed\n${hears}\n`);
});

test('the alert settings of a channel do not change its filter, unless one is given too', async () => {
  const { say } = await openChannel();
  const nothing = 'This channel gets no alerts.';
  expect((await say('on quiet=22:00-07:00')).text).toContain(nothing);
  const both = await say('on remind=90m filter=shop');
  expect(both.text).toContain(
    'Alerts on for “shop”\nThis channel gets alerts for monitors with “shop”',
  );
  expect(both.text).toContain('every 1 hour 30 minutes.');
  expect((await say('on remind=1h')).text).toContain('with “shop” in name or target.');
  expect((await say('on remind=1h')).text).toContain('every hour.');
});

test('the alert settings of a channel outlive the end of its alerts, so that nobody without the right can clear a mention', async () => {
  const { say } = await openChannel(DISCORD);
  await say('on mention=<@&123456789012345678>', manager);
  await say('on quiet=22-7');
  expect((await say('off')).text).toMatch(
    /^Alerts off\nThis channel gets no alerts. When alerts are on: Quiet hours are 22:00/,
  );
  expect((await say('on')).text).toContain('mentions the group with id 123456789012345678.');
});

test('the alert settings of a channel have a time zone that can be changed by itself', async () => {
  const { say } = await openChannel();
  expect((await say('on quiet=22-7')).text).toContain('22:00–07:00 (UTC)');
  expect((await say('on zone=Asia/Tokyo')).text).toContain('22:00–07:00 (Asia/Tokyo)');
  expect((await say('on quiet=23-6')).text).toContain('23:00–06:00 (Asia/Tokyo)');
});

test('the alert settings of a channel are known to those who show them and those who post', async () => {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const channels = createChannels(store);
  await channels.change(SLACK, { settings: { remindMs: 3_600_000 } });
  const of = await channels.settings();
  expect(of('slack:C1')).toEqual({ remindMs: 3_600_000 });
  expect(await channels.settingsOf('slack:C1')).toEqual(of('slack:C1'));
  expect([of('slack:C2'), await channels.settingsOf('slack:C2')]).toEqual([{}, {}]);
  expect(await channels.places()).toEqual([]);
  await store.close();
});

test('filters from before tags are read as texts', async () => {
  const folder = await temporaryFolder();
  const earlier = await openTestStore({ folder });
  const before = earlier.collection<unknown>({
    ...{ name: 'channels', schema: z.unknown(), version: 1, whenCorrupt: 'refuse' },
  });
  const old = { added: [], all: false, filters: ['shop'], except: ['cart'] };
  await before.update(placeKey(SLACK), () => old);
  await earlier.close();
  const hears = await createChannels(await openTestStore({ folder })).subscriptionOf(SLACK);
  const names = ['Shop', 'Shop cart', 'Blog'];
  expect(names.filter((name) => hears({ id: name, name, target: '' }))).toEqual(['Shop']);
});

test.each([
  ['on quiet=night', '“quiet” must be two different times of day such as 22:00-07:00'],
  ['on quiet=07:00-07:00', 'not “07:00-07:00”'],
  ['on quiet=22-7 zone=Berlin', 'Unknown time zone “Berlin”. Use a name such as Europe/Berlin'],
  ['on zone=Europe/Berlin', 'this channel has none'],
  ['on quiet=off zone=UTC', 'Leave it out with quiet=off'],
  ['on remind=5m', '“remind”: “5m” is 5 minutes. Choose 15 minutes to 1 day, or off'],
  ['on remind=25h', 'is 1 day 1 hour'],
  ['on remind=h', 'Use 30s, 5m, 2h or 1d, or off to stop it.'],
  ['on quiet=22-7 remind=soon', "I didn't understand “soon”"],
  ['off quiet=22-7', 'Settings only work with “on”'],
  ['on mention=@oncall', 'picked from the list that Slack shows after @'],
  ['on mention=<!channel>', 'must be a user group'],
  ['on mention=<@U123>', 'must be a user group'],
  ['on shop mention=<@&123456789012345678>', 'must be a user group'],
])('a setting without a meaning is refused and changes nothing: %s', async (words, problem) => {
  const { say, stored } = await openChannel();
  const { text, tone } = await say(words, manager);
  expect(text).toContain(problem);
  expect(tone).toBe('warning');
  expect(await stored()).toEqual([{}, []]);
});

test.each([
  ['is not known to manage the channel', anybody],
  ['does not manage the channel', member],
])('a mention is neither set nor ended by one who %s', async (_who, person) => {
  const { say, stored } = await openChannel();
  await say('on mention=<!subteam^S123|@oncall>', manager);
  const before = await stored();
  for (const value of ['off', '<!subteam^S9>', 'nonsense']) {
    const { text } = await say(`on quiet=22-7 mention=${value}`, person);
    expect(text).toContain('Only people who can manage this channel can change its alert settings');
  }
  expect(await stored()).toEqual(before);
});

test.each([
  [SLACK, '<!subteam^S123>', 'mentions the group with id S123.'],
  [SLACK, '"<!subteam^S123|oncall>"', 'mentions @oncall.'],
  [DISCORD, '<@&123456789012345678>', 'mentions the group with id 123456789012345678.'],
  [CONSOLE, '@oncall', 'mentions @oncall.'],
])('a mention on %o is %s', async (place, typed, shown) => {
  const { say } = await openChannel(place);
  expect((await say(`on mention=${typed}`, manager)).text).toContain(shown);
});

test.each([
  [DISCORD, '@everyone'],
  [DISCORD, '<@123456789012345678>'],
  [DISCORD, '<!subteam^S123>'],
  [CONSOLE, '@on call'],
])('a mention on %o is not %s', async (place, typed) => {
  const { say } = await openChannel(place);
  expect((await say(`on mention="${typed}"`, manager)).text).toContain('“mention” must be');
});
