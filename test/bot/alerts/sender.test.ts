import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { heldForMs, nextFor } from '../../../src/bot/incidents/delivery.ts';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import type { Alert, Delivery } from '../../../src/bot/incidents/watch-state.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { DEV, HOUR, MINUTE, OPS, openAlertWorld } from '../../helpers/bot/alert-world.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import {
  createScriptedPlatform,
  type PlatformCall,
  type ScriptedPlatform,
} from '../../helpers/bot/scripted-platform.ts';
import { group, incident, NOTHING_WATCHED } from '../../helpers/bot/watch-changes.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

/** Two channels with alerts, and a monitor that is up. Calls of the first one can fail. */
async function openWorld() {
  const places = [OPS, DEV];
  const world = await openAlertWorld({ startsAt: '2026-06-01T08:00:00Z', places });
  await world.see({ a: 'UP' });
  return {
    ...world,
    /** Has some calls of the first channel fail, or all. */
    fail(error: Error, isRefused: (call: PlatformCall) => boolean = () => true) {
      world.slack.failWith((call) =>
        call.channel === OPS.channel && isRefused(call) ? error : undefined,
      );
    },
    /** The messages of the first channel, with their titles and lines. */
    shown: () =>
      world.slack.messages
        .filter(({ channel }) => channel === OPS.channel)
        .map(({ titles, lines }) => ({ titles, lines: [...lines.values()] })),
  };
}

const away = new DeliveryError('away', { permanent: false });
const recovered = expect.stringMatching(/^Name of a recovered after /);

test('many flaps while a channel is away become one message, which counts them', async () => {
  const world = await openWorld();
  world.fail(away);
  for (let flap = 0; flap < 8; flap += 1) {
    await world.see({ a: 'DOWN' });
    await world.pass(4 * MINUTE);
    await world.see({ a: 'UP' });
    await world.pass(4 * MINUTE);
  }
  expect(world.titles(OPS)).toEqual([]);
  world.slack.failWith(undefined);
  await world.pass(MINUTE);
  expect(world.titles(OPS)).toEqual(['Name of a was down 8 times']);
  expect(world.titles(DEV)).toHaveLength(8);
});

test('a platform that is away holds up no other', async () => {
  const slack = createScriptedPlatform('slack');
  const discord = createScriptedPlatform('discord');
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const late: ScriptedPlatform = {
    ...slack,
    post: async (post) => answered.then(() => slack.post(post)),
  };
  const { sender } = await withOutage(late, discord);
  await eventually(() => discord.messages.length === 1);
  expect(slack.messages).toEqual([]);
  answer();
  await eventually(() => slack.messages.length === 1);
  await sender.stop();
});

test('the sender waits as long as a platform asks, and gives up after a day', async () => {
  const world = await openWorld();
  let tries = 0;
  world.fail(
    new DeliveryError('slow down', { permanent: false, retryAfterMs: 10 * MINUTE }),
    () => {
      tries += 1;
      return true;
    },
  );
  await world.see({ a: 'DOWN' });
  await world.pass(26 * HOUR);
  // 86,400 s at one try every 600 s.
  expect(tries).toBe(145);
  const dead = world.alerts().flatMap(({ deliveries }) => deliveries.filter((one) => one.dead));
  expect(dead).toMatchObject([{ place: 'slack:C1', dead: 'slow down' }]);
  const error = await eventually(() => world.logged.find(({ level }) => level === 50));
  expect(error).toMatchObject({ place: 'slack:C1', why: 'slow down' });
  expect(world.titles(DEV)).toEqual(['Name of a is down', 'Alerts do not reach slack:C1']);
});

test('a message that cannot be changed for good is posted anew', async () => {
  const world = await openWorld();
  await world.see({ a: 'DOWN' });
  const gone = new DeliveryError('message_not_found', { permanent: true });
  world.fail(gone, ({ kind }) => kind === 'update');
  await world.see({ a: 'UP' });
  await world.pass(MINUTE);
  expect(world.shown()).toEqual([
    { titles: ['Name of a is down'], lines: [] },
    { titles: [recovered], lines: [] },
  ]);
  expect(world.lines().flat()).toHaveLength(1);
});

test.each([
  { answer: 'was lost', titles: [/^Name of a is down$/, /^Name of a recovered after /], lines: 1 },
  {
    answer: 'was a refusal',
    titles: [/^Name of a was down for/, /^Name of a was down for/],
    lines: 0,
  },
])(
  'people who saw an outage begin learn of its end, though the only answer before that $answer',
  async ({ answer, titles, lines }) => {
    const world = await openWorld();
    let tries = 0;
    if (answer === 'was lost') world.slack.loseAnswers(() => new Error('no answer'));
    world.fail(away, () => {
      tries += 1;
      return tries > 1 || answer !== 'was lost';
    });
    await world.see({ a: 'DOWN' });
    await world.pass(MINUTE);
    await world.see({ a: 'UP' });
    world.slack.loseAnswers(undefined);
    world.slack.failWith(undefined);
    await world.pass(2 * MINUTE);
    const [message, ...others] = world.shown();
    expect(others).toEqual([]);
    expect(message?.titles).toEqual(titles.map((title) => expect.stringMatching(title)));
    expect(message?.lines).toHaveLength(lines);
  },
);

test('a line that cannot be posted is left out, since the message says the same', async () => {
  const world = await openWorld();
  await world.see({ a: 'DOWN' });
  const locked = new DeliveryError('thread_locked', { permanent: true });
  world.fail(locked, ({ kind }) => kind === 'announce');
  await world.see({ a: 'UP' });
  await world.pass(MINUTE);
  expect(world.shown()).toEqual([{ titles: ['Name of a is down', recovered], lines: [] }]);
  expect(world.lines().flat()).toHaveLength(1);
  const dead = world.alerts().flatMap(({ deliveries }) => deliveries.filter((one) => one.dead));
  expect(dead).toEqual([]);
});

const NOW_MS = 1_800_000_000_000;

/** The delivery of a message that was posted. */
const postedAs = (postId: string, more: Partial<Delivery> = {}): Delivery => ({
  ...{ ...newDelivery('slack:C1', postId), postId, attempted: true },
  ...{ posted: { message: postId, thread: postId }, ...more },
});

test('a message that is held back does not wait for a clock that was set back', () => {
  const delivery = postedAs('a', { deliveredVersion: 1, heldUntilMs: NOW_MS + 60_000 });
  const outage: Alert = {
    ...{ kind: 'monitoring-outage', id: 'b', version: 2, openedAtMs: NOW_MS },
    ...{ startedAtMs: NOW_MS, why: 'Away.', deliveries: [delivery] },
  };
  const watching = { ...NOTHING_WATCHED, alerts: [outage] };
  expect(nextFor(watching, 'slack:C1', NOW_MS)).toBeUndefined();
  expect(heldForMs(watching, 'slack:C1', NOW_MS)).toBe(60_000);
  expect(nextFor(watching, 'slack:C1', NOW_MS + 60_000)?.delivery).toBe(delivery);
  expect(nextFor(watching, 'slack:C1', NOW_MS - 86_400_000)?.delivery).toBe(delivery);
});

test('a message that shows an outage which is over is changed before one about several says that it is down again', () => {
  const several = { ...group('g', [], 2), deliveries: [postedAs('several')] };
  // Younger than the group, since it carries the message of an outage before.
  const over = { ...incident('i', 2), endedAtMs: NOW_MS, deliveries: [postedAs('own')] };
  const told = { ...over, deliveries: [postedAs('own', { deliveredVersion: 2 })] };
  const next = (alert: Alert) =>
    nextFor({ ...NOTHING_WATCHED, alerts: [several, alert] }, 'slack:C1', NOW_MS);
  expect(next(over)?.delivery.postId).toBe('own');
  expect(next(told)?.delivery.postId).toBe('several');
});

/** A sender with a channel of each platform and a clock by hand, which has an outage to tell. */
async function withOutage(...platforms: ScriptedPlatform[]) {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const places = platforms.map(({ name }) => ({ platform: name, channel: 'C1' }));
  const state = await openWatchState(store);
  const clock = createHandClock(NOW_MS);
  const monitor = { id: 'a', name: 'a', check_type: 'HTTP', target: 'https://a.example' };
  for (const status of ['UP', 'DOWN']) {
    const around = {
      nowMs: clock.nowMs(),
      newId: () => 'i1',
      placesFor: () => places.map(placeKey),
    };
    const listed = [{ ...monitor, status, interval_seconds: 60 }];
    await state.update((watching) => applyPoll(watching, listed, around).watching);
  }
  const sender = createSender({ state, alertPlaces: places, clock, random: () => 0.5, log });
  sender.start(platforms);
  return { clock, sender, state };
}

test('a stop does not wait for ever for a platform that never answers', async () => {
  const slack = createScriptedPlatform('slack');
  let asked = false;
  const { clock, sender } = await withOutage({
    ...slack,
    post() {
      asked = true;
      return new Promise(() => {});
    },
  });
  await eventually(() => asked);
  const stopped = sender.stop();
  await eventually(() => clock.isAwaited());
  clock.goOn(10_000);
  await stopped;
});

test('a clock that is set back by hours does not hold a retry up for hours', async () => {
  const slack = createScriptedPlatform('slack');
  slack.failWith(() => new DeliveryError('later', { permanent: false, retryAfterMs: 60_000 }));
  const { clock, sender, state } = await withOutage(slack);
  const delivery = () => state.current()?.alerts[0]?.deliveries[0];
  await eventually(() => (delivery()?.nextTryAtMs ?? 0) > clock.nowMs() && clock.isAwaited());
  clock.goOn(-5 * 3_600_000);
  slack.failWith(undefined);
  // The pause that it began before is over a minute later by any clock; the next one has no reason.
  clock.endPauses();
  await eventually(() => slack.messages.length === 1);
  await sender.stop();
});
