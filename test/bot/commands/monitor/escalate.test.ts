import { expect, test } from 'vitest';
import { type Person, type Place, placeKey } from '../../../../src/bot/shared/place.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';

const SLACK: Place = { platform: 'slack', channel: 'C1' };
const DISCORD: Place = { platform: 'discord', channel: '123' };
const CONSOLE: Place = { platform: 'console', channel: 'general' };

/** A manager of their own channel, and of other channels as said. */
const managing = (others: 'all' | 'none' | 'unknown'): Person => ({
  ...{ id: 'U1', name: 'Ada', mayManage: async (over) => over === 'place' || others === 'all' },
  channelOf: async (id) =>
    others === 'unknown' ? undefined : { channel: id, mayManage: others === 'all' },
});
const admin = managing('all');

async function openChannel(place: Place = SLACK) {
  const bot = await startTestBot();
  return {
    async say(words: string, person = admin) {
      const reply = await bot.say(`/monitor escalate ${words}`, { place, person });
      const card = cardOf(reply);
      return { text: textOf(card), tone: card.tone, reply };
    },
    stored: async () => (await bot.channelSettings.settingsOf(placeKey(place))).escalation,
  };
}

const TEN_MINUTES_MS = 600_000;

test.each([
  'after 10m to <#C2|oncall> <@U2|ada>',
  '10 minutes <@U2|ada> <#C2|oncall>',
  'after=10m to=<#C2|oncall> mention=<@U2|ada>',
])('escalation is set on Slack by “%s”, shown, and removed', async (words) => {
  const { say, stored } = await openChannel();
  expect((await say('')).text).toContain('No escalation is set up for this channel');
  const said = await say(words);
  expect(said.text).toContain(
    'An outage that nobody acknowledges within 10 minutes is posted in #oncall and mentions @ada',
  );
  expect(said.reply).toMatchObject({ private: false });
  expect(await stored()).toEqual({
    ...{ afterMs: TEN_MINUTES_MS, place: 'slack:C2', placeName: '#oncall' },
    mention: { id: 'U2', name: '@ada', isPerson: true },
  });
  expect((await say('')).reply).toMatchObject({ private: true });
  expect((await say('off')).text).toContain('No escalation is set up for this channel');
  expect(await stored()).toBeUndefined();
});

test('escalation mentions a user group, a role, or a name in the console', async () => {
  const slack = await openChannel();
  await slack.say('after 1h to <#C2> <!subteam^S12345|@oncall>');
  expect(await slack.stored()).toEqual({
    ...{ afterMs: 3_600_000, place: 'slack:C2', mention: { id: 'S12345', name: '@oncall' } },
  });
  const discord = await openChannel(DISCORD);
  await discord.say('after 10m <@&123456789012345678>');
  expect(await discord.stored()).toEqual({
    ...{ afterMs: TEN_MINUTES_MS, mention: { id: '123456789012345678' } },
  });
  await discord.say('after 10m to <#223456789012345678> <@323456789012345678>');
  expect(await discord.stored()).toMatchObject({
    place: 'discord:223456789012345678',
    mention: { id: '323456789012345678', isPerson: true },
  });
  const own = await openChannel(CONSOLE);
  await own.say('after 10m to #ops @oncall');
  expect(await own.stored()).toMatchObject({ place: 'console:ops', mention: { id: 'oncall' } });
});

test.each([
  ['after 30s to <#C2>', '“30s” is 30 seconds. Choose 1 minute to 1 day.'],
  ['after 25 hours to <#C2>', '“25 hours” is 1 day 1 hour. Choose 1 minute to 1 day.'],
  ['to <#C2>', 'Say how long to wait'],
  ['after 10m', 'Say who gets the escalation'],
  ['after 10m to <#C1>', 'That is this channel'],
  ['after 10m to #oncall', 'Pick the channel after # and the person after @ from the list'],
  ['after 10m <!channel>', "I didn't understand “<!channel>”"],
  ['after 10m <@U2> <@U3>', "I didn't understand “<@U3>”"],
  ['after 10m <#C2> <#C3>', "I didn't understand “<#C3>”"],
  ['after 10m <@&123456789012345678>', "I didn't understand"],
  ['off <#C2>', "I didn't understand “off”"],
])('escalation is refused and changes nothing: %s', async (words, problem) => {
  const { say, stored } = await openChannel();
  const { text, tone } = await say(words);
  expect(text).toContain(problem);
  expect(tone).toBe('warning');
  expect(await stored()).toBeUndefined();
});

test('only people who manage another channel can escalate to it', async () => {
  const { say, stored } = await openChannel();
  const line = 'after 10m to <#C2|oncall> <@U2|ada>';
  expect((await say(line, managing('none'))).text).toContain('Only people who manage that channel');
  expect((await say(line, managing('unknown'))).text).toContain("I can't find that channel");
  const { channelOf: _, ...plain } = admin;
  expect((await say(line, plain)).text).toContain("I can't find that channel");
  expect(await stored()).toBeUndefined();
  await say('after 10m <@U2|ada>', managing('none'));
  expect(await stored()).toMatchObject({ mention: { id: 'U2' } });
});
