import { expect, test } from 'vitest';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { MINUTE, OPS, openAlertWorld, SECOND } from '../../helpers/bot/alert-world.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

const away = new DeliveryError('away', { permanent: false });

/** A channel with a fallback, and monitors that are up. */
async function openWorld(...names: string[]) {
  const world = await openAlertWorld({ startsAt: '2026-06-01T14:00:00Z', pollsFast: true });
  await world.setFallback();
  await world.see(Object.fromEntries(names.map((name) => [name, 'UP'])));
  return {
    ...world,
    /** Titles that each message at the fallback has had. */
    elsewhere: () => world.webhook.messages.map(({ titles }) => titles),
  };
}

const recovered = expect.stringMatching(/^Name of a recovered after /);

test('alerts that can’t be posted for two minutes are sent to the fallback too, with their ends', async () => {
  const world = await openWorld('a');
  world.slack.failWith(() => away);
  await world.see({ a: 'DOWN' });
  await world.pass(MINUTE + 55 * SECOND);
  expect(world.elsewhere()).toEqual([]);
  await world.pass(10 * SECOND);
  expect(world.elsewhere()).toEqual([['Name of a is down']]);
  const [message] = world.webhook.messages;
  expect(message && textOf(message.card)).toContain(
    `Slack can’t be reached since: at ${Date.parse('2026-06-01T14:00:00Z')}`,
  );
  await world.see({ a: 'UP' });
  expect(world.elsewhere()).toEqual([['Name of a is down', recovered]]);
  world.slack.failWith(undefined);
  await world.pass(2 * MINUTE);
  expect(world.titles(OPS)).toEqual([expect.stringMatching(/^Name of a was down for /)]);
  expect(world.elsewhere()).toHaveLength(1);
});

test('an alert that begins while the channel can’t be reached is sent to the fallback at once', async () => {
  const world = await openWorld('a', 'b');
  world.slack.failWith(() => away);
  await world.see({ a: 'DOWN' });
  await world.pass(5 * MINUTE);
  await world.see({ b: 'DOWN' });
  // No time passes.
  await eventually(() => world.elsewhere().length === 2);
  expect(world.elsewhere()).toEqual([['Name of a is down'], ['Name of b is down']]);
});

test('many outages are few messages at the fallback, and the channel gets its own later', async () => {
  const names = Array.from({ length: 50 }, (_, n) => `m${n}`);
  const world = await openWorld(...names);
  world.slack.failWith(() => away);
  await world.see(Object.fromEntries(names.map((name) => [name, 'DOWN'])));
  await world.pass(3 * MINUTE);
  expect(world.elsewhere()).toEqual([['50 services are down']]);
  world.slack.failWith(undefined);
  await world.pass(2 * MINUTE);
  expect(world.titles(OPS)).toEqual(['50 services are down']);
  await world.see(Object.fromEntries(names.map((name) => [name, 'UP'])));
  const end = /^50 services recovered after /;
  expect(world.titles(OPS)).toEqual([expect.stringMatching(end)]);
  expect(world.elsewhere()[0]?.at(-1)).toMatch(end);
});

test('the end of an alert that the channel has isn’t sent to the fallback', async () => {
  const world = await openWorld('a');
  await world.see({ a: 'DOWN' });
  world.slack.failWith(() => away);
  await world.see({ a: 'UP' });
  await world.pass(5 * MINUTE);
  expect(world.elsewhere()).toEqual([]);
});

test.each([
  { what: 'refuses alerts', error: new DeliveryError('closed', { permanent: true, closed: true }) },
  { what: 'accepts alerts', error: undefined },
])('the fallback gets nothing while the channel $what', async ({ error }) => {
  const world = await openWorld('a');
  world.slack.failWith(() => error);
  await world.see({ a: 'DOWN' });
  await world.pass(10 * MINUTE);
  expect(world.elsewhere()).toEqual([]);
});

test('the fallback gets nothing once a channel that couldn’t be reached refuses alerts', async () => {
  const world = await openWorld('a', 'b');
  world.slack.failWith(() => away);
  await world.see({ a: 'DOWN' });
  await world.pass(MINUTE);
  world.slack.failWith(() => new DeliveryError('closed', { permanent: true, closed: true }));
  await world.pass(10 * MINUTE);
  await world.see({ b: 'DOWN' });
  await world.pass(10 * MINUTE);
  expect(world.elsewhere()).toEqual([]);
});

test('the fallback gets nothing while a channel refuses new messages, though edits can’t reach it', async () => {
  const world = await openWorld('a', 'b');
  await world.see({ a: 'DOWN' });
  const closed = new DeliveryError('closed', { permanent: true, closed: true });
  world.slack.failWith(({ kind }) => (kind === 'post' ? closed : away));
  await world.see({ b: 'DOWN' });
  await world.see({ a: 'UP' });
  await world.pass(10 * MINUTE);
  expect(world.elsewhere()).toEqual([]);
});

test('a kill at any step loses and doubles no alert at the fallback', async () => {
  const steps = long ? 60 : 25;
  for (let step = 1; step <= steps; step += 1) {
    const world = await openWorld('a', 'b');
    world.slack.failWith(() => away);
    world.kill(step);
    await world.see({ a: 'DOWN' });
    await world.pass(3 * MINUTE);
    await world.see({ b: 'DOWN' });
    await world.see({ a: 'UP' });
    await world.pass(MINUTE);
    const shown = world.elsewhere().map((titles) => titles.at(-1));
    expect({ step, shown }).toEqual({ step, shown: [recovered, 'Name of b is down'] });
  }
});
