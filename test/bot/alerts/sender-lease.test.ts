import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const PLACES = ['C1', 'C2'].map((channel) => ({ platform: 'slack', channel }));

/** A state with one alert for two places, and senders over it that each hold a lease as the test says. */
async function startState() {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const state = await openWatchState(store);
  const slack = createScriptedPlatform('slack');
  const clock = createHandClock(Date.UTC(2027, 0, 15));

  async function see(status: string) {
    const monitor = { id: 'm', name: 'Shop', check_type: 'HTTP', target: 'https://shop.example' };
    await state.update(
      (watching) =>
        applyPoll(watching, [{ ...monitor, status, interval_seconds: 60 }], {
          nowMs: clock.nowMs(),
          newId: () => 'alert',
          placesFor: () => PLACES.map(placeKey),
        }).watching,
    );
  }
  await see('UP');
  await see('DOWN');

  return {
    ...{ state, slack, lines, clock, see },
    deliveries: () => state.current()?.alerts[0]?.deliveries ?? [],
    /** Begins to send at once. */
    send(fence: number, isHeld: () => boolean = () => true, platform: typeof slack = slack) {
      const sender = createSender({
        ...{
          state,
          lease: { fence, isHeld },
          alertPlaces: PLACES,
          steadyMs: clock.nowMs,
          clock,
          log,
        },
        random: () => 0.5,
      });
      onTestFinished(async () => {
        const stopped = sender.stop();
        clock.goOn(60_000);
        await stopped;
      });
      sender.start([platform]);
      return sender;
    },
  };
}

const never = new Promise<never>(() => {});

test('Nothing is begun when the lease is not held, also before anybody says so', async () => {
  const { slack, deliveries, send } = await startState();
  let asked = 0;
  const sender = send(1, () => {
    asked += 1;
    return false;
  });
  await eventually(() => asked > 1);
  await sender.stop();
  expect(slack.tries).toBe(0);
  expect(deliveries().map(({ attempted }) => attempted)).toEqual([false, false]);
});

test('Nothing is sent when the lease is lost between what is stored and the request', async () => {
  const { slack, lines, deliveries, send } = await startState();
  const sender = send(1, () => deliveries().every(({ attempted }) => !attempted));
  await eventually(() => deliveries().some(({ attempted }) => attempted));
  await sender.stop();
  expect(slack.tries).toBe(0);
  expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test('A message that an earlier holder began is looked up at once, and the platform is told how long that may still arrive', async () => {
  const { slack, deliveries, clock, send } = await startState();
  send(1, () => true, { ...slack, post: () => never });
  await eventually(() => deliveries().every(({ triedBy }) => triedBy === 1));
  const posts: object[] = [];
  const sender = send(2, () => true, {
    ...slack,
    async post(post) {
      const { attempted, landsInMs } = post;
      posts.push({ attempted, landsInMs });
      if (posts.length === 1) throw new Error('The answer was lost.');
      return await slack.post(post);
    },
  });
  await eventually(() => slack.messages.length === 1);
  clock.goOn(60_000);
  sender.wake();
  await eventually(() => slack.messages.length === 2);
  const ofEarlier = { attempted: true, landsInMs: 3_000 };
  expect(posts).toEqual([ofEarlier, ofEarlier, { attempted: true, landsInMs: 0 }]);
  await eventually(() =>
    deliveries().every(({ triedBy, posted }) => posted && triedBy === undefined),
  );
});

test('A change waits 3 s under a new lease if an earlier one may be under way there, and others are made at once', async () => {
  const { slack, clock, see, deliveries, send } = await startState();
  const sender = send(1, () => true, {
    ...slack,
    update: async (channel) => (channel === 'C1' ? await never : Promise.reject(new Error('503'))),
  });
  await eventually(() => deliveries().every(({ deliveredVersion }) => deliveredVersion === 1));
  await see('UP');
  sender.wake();
  await eventually(() => deliveries()[0]?.triedBy === 1 && deliveries()[1]?.failures === 1);

  send(2);
  clock.goOn(2_900);
  const tones = () => slack.messages.map(({ card }) => card.tone);
  await eventually(() => tones()[1] === 'good');
  expect(tones()[0]).toBe('bad');
  clock.goOn(200);
  await eventually(() => tones()[0] === 'good');
});

test('What became of a request is not stored once it was taken up under a later lease', async () => {
  const { state, slack, deliveries, send } = await startState();
  const answers: Array<() => void> = [];
  const slow: typeof slack = {
    ...slack,
    async post(post) {
      const taken = await slack.post(post);
      await new Promise<void>((resolve) => answers.push(resolve));
      return { ...taken, message: 'of the first' };
    },
  };
  send(1, () => true, slow);
  await eventually(() => answers.length === 2);
  send(2);
  await eventually(() => deliveries().every(({ posted }) => posted));
  // Until the second has shown all that there is to show.
  await eventually(() =>
    deliveries().every(
      ({ deliveredVersion, triedBy }) => deliveredVersion === 1 && triedBy === undefined,
    ),
  );
  const before = state.current();
  for (const answer of answers) answer();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(state.current()).toBe(before);
  expect(deliveries().map(({ posted }) => posted?.message)).not.toContain('of the first');
});
