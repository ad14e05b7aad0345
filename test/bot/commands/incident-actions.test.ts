import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Card, decodeAction, encodeAction } from '../../../src/bot/shared/card.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { OPS, startAlertedBot } from '../../helpers/bot/alerted-bot.ts';
import { cardOf, startTestBot, type TestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const press = (
  { press: pressAt }: TestBot,
  card: Card | undefined,
  label: string,
  person = { id: 'U1', name: 'Ada <!here>' },
) => pressAt(card, label, { place: OPS, person });

const labelsOf = (card: Card | undefined) => card?.actions?.map(({ label }) => label);

test('an acknowledgement shows in every place, once, with who pressed', async () => {
  const bot = await startAlertedBot();
  const { slack, discord, setAll } = bot;
  const card = slack.messages[0]?.card;
  expect(labelsOf(card)).toEqual(['Acknowledge', 'Snooze 1 h', 'Check now', 'Ask why']);
  expect(await press(bot, card, 'Acknowledge')).toEqual({ kind: 'nothing' });
  for (const { messages } of [slack, discord]) {
    await eventually(() => messages[0] && textOf(messages[0].card).includes('Acknowledged by'));
    expect(textOf(messages[0]?.card as Card)).toContain('Acknowledged by: Ada <!here>');
    expect(labelsOf(messages[0]?.card)).not.toContain('Acknowledge');
  }
  // Pressed before the message changed.
  const before = slack.tries;
  const bob = { id: 'U2', name: 'Bob' };
  const second = await press(bot, card, 'Acknowledge', bob);
  expect(second).toMatchObject({ kind: 'card', private: true });
  expect(textOf(cardOf(second))).toMatch(
    /^Ada <!here> acknowledged this first\nAcknowledged: at \d+/,
  );
  expect(slack.tries).toBe(before);
  setAll('UP');
  await eventually(() => slack.messages[0]?.card.tone === 'good');
  expect(textOf(slack.messages[0]?.card as Card)).toContain('Acknowledged by: Ada <!here>');
  expect(labelsOf(slack.messages[0]?.card)).toEqual(['Summarise']);
  const late = cardOf(await press(bot, card, 'Acknowledge'));
  expect(textOf(late)).toContain('This incident is over.');
});

test('a button works after a restart, and one of an incident long gone says so', async () => {
  const folder = await temporaryFolder();
  const first = await startAlertedBot(['Shop'], { folder });
  const card = first.slack.messages[0]?.card;
  await first.stop();
  const second = await startTestBot({ folder, settings: { alertPlaces: [OPS] } });
  expect(await press(second, card, 'Acknowledge')).toEqual({ kind: 'nothing' });
  const foreign = {
    ...(card as Card),
    actions: [{ label: 'x', command: 'incident acknowledge', values: { incident: 'none' } }],
  };
  expect(textOf(cardOf(await press(second, foreign, 'x')))).toContain('too old');
});

test('a snoozed monitor posts nothing for an hour, and its recovery is shown', async () => {
  const bot = await startAlertedBot();
  const { slack, service, setAll } = bot;
  await press(bot, slack.messages[0]?.card, 'Snooze 1 h');
  await eventually(
    () => slack.messages[0] && textOf(slack.messages[0].card).includes('Snoozed by'),
  );
  const other = service.add({ name: 'Blog' });
  setAll('UP');
  await eventually(() => slack.messages[0]?.card.tone === 'good');
  setAll('DOWN');
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 2);
  // Another monitor's outage is posted after the shop's was held back.
  service.setStatus(other.id, 'DOWN');
  await eventually(() => slack.messages.length === 2);
  expect(slack.messages.map(({ card }) => card.title)).toEqual([
    expect.stringMatching(/^Shop recovered after /),
    'Blog is down',
  ]);
});

test('a button ends a snooze, also after the outage, and what was held back is posted', async () => {
  const bot = await startAlertedBot();
  const { slack, discord, service, setAll } = bot;
  const card = slack.messages[0]?.card;
  await press(bot, card, 'Snooze 1 h');
  // Pressed before the message changed: the snooze isn't extended.
  const second = await press(bot, card, 'Snooze 1 h', { id: 'U2', name: 'Bob' });
  expect(textOf(cardOf(second))).toMatch(/^Ada <!here> snoozed this first\nSnoozed until: at \d+/);
  await eventually(() => labelsOf(slack.messages[0]?.card)?.includes('End snooze'));
  expect(labelsOf(slack.messages[0]?.card)).not.toContain('Snooze 1 h');
  setAll('UP');
  await eventually(() => labelsOf(slack.messages[0]?.card)?.join() === 'End snooze,Summarise');
  setAll('DOWN');
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 2);
  expect(slack.messages).toHaveLength(1);
  const over = slack.messages[0]?.card;
  expect(await press(bot, over, 'End snooze')).toEqual({ kind: 'nothing' });
  await eventually(() => slack.messages.length === 2 && discord.messages.length === 2);
  for (const { messages } of [slack, discord]) {
    await eventually(() => labelsOf(messages[0]?.card)?.join() === 'Summarise');
    expect(textOf(messages[0]?.card as Card)).not.toContain('Snoozed');
    expect(messages[1]?.card.title).toBe('Shop is down');
  }
  expect(textOf(cardOf(await press(bot, over, 'End snooze')))).toContain('already ended');
});

test('“Check now” shows the result to the person who pressed, or says why there is none', async () => {
  const bot = await startAlertedBot();
  const reply = await press(bot, bot.slack.messages[0]?.card, 'Check now');
  expect(reply).toMatchObject({ kind: 'card', private: true });
  // The fake has the bare contract, which has no checks on request.
  expect(textOf(cardOf(reply))).toMatch(/Shop can’t be checked now: .*does not offer this/);
});

test('the value of a button is read back as it was, and any other value is ignored', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.dictionary(
        word.filter((key) => key !== '__proto__'),
        word,
        { maxKeys: 2 },
      ),
      (values) => {
        const action = { label: 'x', command: 'incident check', values };
        let text: string;
        try {
          text = encodeAction(action);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          return;
        }
        expect(text.length).toBeLessThanOrEqual(100);
        expect(decodeAction(text)).toEqual({ command: 'incident check', values });
      },
    ),
  );
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => void decodeAction(text)));
  for (const text of ['', '?', 'ask', '?a=b', 'a?b?c', `a?${'b'.repeat(100)}`]) {
    expect(decodeAction(text)).toBeUndefined();
  }
});
