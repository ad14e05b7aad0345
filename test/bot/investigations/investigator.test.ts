import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { conversationKey } from '../../../src/bot/ask/conversations.ts';
import { type Card, encodeAction } from '../../../src/bot/shared/card.ts';
import { OPS } from '../../helpers/bot/alerted-bot.ts';
import { conclusion, startInvestigatedBot } from '../../helpers/bot/investigated-bot.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

type World = Awaited<ReturnType<typeof startInvestigatedBot>>;

const at = (world: World) => ({ place: OPS, thread: world.thread });

const labels = ({ actions = [] }: Card) => actions.map(({ label }) => label);

const promptOf = (world: World, call = 0) => JSON.stringify(world.provider.calls[call]?.body);

const investigations = ({ slack, discord }: World) =>
  [...slack.messages, ...discord.messages].filter(({ under }) => under !== undefined);

test('posts the likely cause in the thread of the alert, and one line on the alert', async () => {
  const world = await startInvestigatedBot();
  const { card, titles } = await world.concluded();
  expect(textOf(card)).toMatch(
    new RegExp(
      [
        '^Likely: The web server of Shop refuses connections',
        'Evidence',
        '• .*Shop \\(HTTP https://shop.example\\) became DOWN',
        'Try first: Restart the web server of Shop',
        'Not seen: deployments',
        'test-model · .* · \\d+ of 1,000,000 tokens today$',
      ].join('\n'),
    ),
  );
  expect(labels(card)).toEqual(['👍', '👎', 'Details', 'Investigate again', 'Not now']);
  expect(titles[0]).toBe('Looking for the cause…');
  await eventually(() =>
    textOf(world.alert.card).includes(
      'Likely: The web server of Shop refuses connections (see thread)',
    ),
  );
  expect([card.mention, card.goesOn]).toEqual([undefined, undefined]);
  // The other channel has not turned investigations on.
  expect(investigations(world)).toHaveLength(1);
  expect(textOf(world.other.card)).not.toContain('Likely');
});

test('offers the model only tools that read', async () => {
  const world = await startInvestigatedBot();
  await world.concluded();
  const { tools } = world.provider.calls[0]?.body ?? {};
  const names = tools.map((one: { function: { name: string } }) => one.function.name);
  expect(names.sort()).toEqual([
    'get_monitor',
    'get_uptime',
    'list_check_results',
    'list_incidents',
    'list_monitors',
  ]);
});

test('remembers its report for later questions in the thread', async () => {
  const world = await startInvestigatedBot();
  await world.concluded();
  const before = world.provider.calls.length;
  world.provider.answerWith('It is as I said.');
  await readAnswer(await world.say('/ask are you sure?', at(world)), world.thread);
  expect(promptOf(world, before)).toContain('The web server of Shop refuses connections');
});

test('begins the draft of a postmortem with the investigation', async () => {
  const world = await startInvestigatedBot();
  await world.concluded();
  await world.recover();
  world.provider.answerWith('# Postmortem');
  const reply = await world.press(world.alert.card, 'Summarise', at(world));
  const { end } = await readAnswer(reply, world.thread);
  expect(end.document?.text).toMatch(
    /Askwatch investigated at .* UTC\. No person confirmed its result:\n- \*\*Likely\*\*: The web server of Shop refuses connections/,
  );
});

test('shows everything that was looked up as a file', async () => {
  const world = await startInvestigatedBot();
  const { card } = await world.concluded();
  const { end } = await readAnswer(await world.press(card, 'Details', at(world)), world.thread);
  expect(end.document?.name).toBe('investigation.md');
  expect(end.document?.text).toContain('## Looked up');
  expect(end.document?.text).toContain('became DOWN');
});

test('takes a rating of its report', async () => {
  const world = await startInvestigatedBot();
  const { card } = await world.concluded();
  const rated = cardOf(await world.press(card, '👍', at(world)));
  expect(rated.title).toBe('Thank you, rated 👍');
});

test('runs again in the same message when a person asks', async () => {
  const world = await startInvestigatedBot();
  const first = await world.concluded();
  world.provider.answerWith(conclusion({ cause: 'Its disk is full' }));
  await world.press(first.card, 'Investigate again', at(world));
  const second = await eventually(() => {
    const shown = world.message();
    return shown?.card.title === 'Likely: Its disk is full' && shown;
  });
  expect(second.id).toBe(first.id);
  await eventually(() =>
    textOf(world.alert.card).includes('Likely: Its disk is full (see thread)'),
  );
  const details = await world.press(second.card, 'Details', at(world));
  const { end } = await readAnswer(details, world.thread);
  expect(end.document?.text).toContain('**Likely**: Its disk is full');
});

test('stops when a person presses Not now, and stays off until someone asks again', async () => {
  const world = await startInvestigatedBot();
  const release = world.provider.holdAnswers();
  const started = await eventually(() => world.message());
  await eventually(() => world.provider.calls.length === 1);
  await world.press(started.card, 'Not now', at(world));
  const stopped = await eventually(() => {
    const shown = world.message();
    return shown?.card.title === 'Investigation stopped' && shown;
  });
  expect(textOf(stopped.card)).toContain('Ada turned investigations off for this incident.');
  expect(labels(stopped.card)).toEqual(['Investigate again']);
  await eventually(() => world.provider.calls[0]?.aborted);
  release();
  await world.press(stopped.card, 'Investigate again', at(world));
  await world.concluded();
  expect(investigations(world)).toHaveLength(1);
});

test('says kindly that the budget of the day is used up, and calls no model', async () => {
  const world = await startInvestigatedBot({ tokensPerDay: 50_000, usedTokens: 50_000 });
  const { card } = await world.concluded();
  expect(textOf(card)).toMatch(
    /^Not investigated\nThis channel’s investigations have used up their 50,000 tokens a day\. The next one can start in .*“Ask why” still answers.*\n50,000 of 50,000 tokens today$/,
  );
  const refused = cardOf(await world.press(card, 'Investigate again', at(world)));
  expect(textOf(refused)).toContain('have used up their 50,000 tokens a day');
  expect(world.provider.calls).toEqual([]);
});

test('explains why there is no result, with what it looked up', async () => {
  const world = await startInvestigatedBot({ script: 'I have no idea.' });
  const { card } = await world.concluded();
  expect(textOf(card)).toMatch(
    /^No likely cause found\nThe model’s answer had no conclusion that Askwatch could read\.\nLooked up\n• .*Shop/,
  );
  expect(labels(card)).toEqual(['Investigate again', 'Not now']);
  expect(textOf(world.alert.card)).not.toContain('see thread');
});

test('shows no cause without evidence, and marks figures that no look-up returned', async () => {
  const script = conclusion({
    cause: 'The deploy of 03:17 broke it',
    evidence: [{ fact: 'F99' }, { fact: 'T1', quote: 'deploy 4711' }],
    next_step: 'Roll back to 99.7 %',
  });
  const world = await startInvestigatedBot({ script });
  const { card } = await world.concluded();
  expect(card.title).toBe('No likely cause found');
  expect(textOf(card)).toMatch(/Not backed by any look-up: 99\.7 %, 03:17/);
});

test('investigates 500 outages at once in one message', async () => {
  const names = Array.from({ length: 500 }, (_, at) => `Shop ${at}`);
  const world = await startInvestigatedBot({ names });
  const { card } = await world.concluded();
  expect(card.title).toContain('Likely');
  expect(promptOf(world)).toContain('more monitors became DOWN together with it');
  expect(investigations(world)).toHaveLength(1);
  expect(world.provider.calls).toHaveLength(1);
});

test('ends an investigation that a restart interrupted with a note, in its one message', async () => {
  const folder = await temporaryFolder();
  const first = await startInvestigatedBot({ folder });
  first.provider.holdAnswers();
  const started = await eventually(() => first.message());
  await eventually(() => first.provider.calls.length === 1);
  await first.stop();
  const store = await openTestStore({ folder });
  const again = await startTestBot({ store, settings: { alertPlaces: [OPS] } });
  const slack = createScriptedPlatform('slack');
  slack.messages.push(...first.slack.messages);
  for (const { name, target, id } of first.service.monitors) {
    again.service.add({ id, name, target, status: 'DOWN' });
  }
  await again.bot.start([slack]);
  const ended = await eventually(() =>
    slack.messages.find(({ card }) => card.title === 'Not investigated'),
  );
  expect(ended.id).toBe(started.id);
  expect(textOf(ended.card)).toContain('Askwatch restarted during this investigation.');
  expect(labels(ended.card)).toEqual(['Investigate again', 'Not now']);
  expect(slack.messages.filter(({ under }) => under !== undefined)).toHaveLength(1);
  await again.stop();
  await store.close();
});

test('lists the same facts for Ask why without a model', async () => {
  const world = await startInvestigatedBot({ models: [{ id: 'fast-8k', owned_by: 'askwatch' }] });
  const reply = await world.press(world.alert.card, 'Ask why', at(world));
  const { text } = await readAnswer(reply, world.thread);
  expect(text).toContain('What may explain it:');
});

test('keeps every button within what a platform carries', async () => {
  const world = await startInvestigatedBot();
  const { card } = await world.concluded();
  for (const action of card.actions ?? []) expect(encodeAction(action).length).toBeLessThan(101);
  expect(conversationKey(OPS, world.thread)).toBe(world.key);
});

test.each(['Details', 'Investigate again', 'Not now'])(
  'refuses %s from another channel',
  async (label) => {
    const world = await startInvestigatedBot();
    const { card } = await world.concluded();
    const other = { place: { platform: 'slack', channel: 'C2' }, thread: world.thread };
    const refused = cardOf(await world.press(card, label, other));
    expect(textOf(refused)).toContain('This investigation is too old.');
    expect(world.message()?.card).toEqual(card);
  },
);

test('shows the likely cause although the alert is edited at that moment', async () => {
  const world = await startInvestigatedBot();
  const release = world.provider.holdAnswers();
  await eventually(() => world.provider.calls.length === 1);
  const update = world.slack.update;
  let edits = 0;
  world.slack.update = async (channel, posted, card) => {
    if (posted.message === world.alert.id) {
      edits += 1;
      if (edits === 1) {
        release();
        // The usage is stored right before the result.
        await eventually(async () => (await world.usageLog.since(OPS, 0)).length === 2);
        await pause(100);
      }
    }
    await update(channel, posted, card);
  };
  await world.press(world.alert.card, 'Acknowledge', at(world));
  await eventually(() => textOf(world.alert.card).includes('(see thread)'));
});
