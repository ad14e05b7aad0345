import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const PLACES = ['C1', 'C2'].map((channel) => ({ platform: 'slack', channel }));

/** A state with one alert for two places, and senders over it that each hold a lease as the test says. */
async function startState() {
  const { log, lines } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
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
    send(
      fence: number,
      isHeld: () => boolean = () => true,
      { isShared = true, platform = slack }: { isShared?: boolean; platform?: typeof slack } = {},
    ) {
      const lease = isShared ? { fence, isHeld } : undefined;
      const sender = createSender({
        ...{ state, lease, alertPlaces: PLACES, steadyMs: clock.nowMs, clock, log },
        random: () => 0.5,
      });
      onTestFinished(async () => {
        const stopped = sender.stop();
        // What hangs is not waited for.
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

test('A place is left alone for 15 s after a takeover where an earlier request may be under way, and others are served at once', async () => {
  const { slack, clock, see, deliveries, send } = await startState();
  const hangs: typeof slack = {
    ...slack,
    post: (post) => (post.channel === 'C1' ? never : slack.post(post)),
  };
  send(1, () => true, { platform: hangs });
  await eventually(() => deliveries()[0]?.triedBy === 1 && deliveries()[1]?.posted);
  expect(slack.messages.map(({ channel }) => channel)).toEqual(['C2']);

  const attempts: boolean[] = [];
  const told: typeof slack = {
    ...slack,
    post(post) {
      attempts.push(post.attempted);
      return slack.post(post);
    },
  };
  const sender = send(2, () => true, { platform: told });
  clock.goOn(14_900);
  await see('UP');
  sender.wake();
  await eventually(() => slack.messages[0]?.card.tone === 'good');
  expect(slack.messages).toHaveLength(1);
  clock.goOn(200);
  await eventually(() => slack.messages.length === 2);
  expect(attempts).toEqual([true]);
  await eventually(() =>
    deliveries().every(({ triedBy, posted }) => posted && triedBy === undefined),
  );
});

test('Nobody waits where the process of an earlier holder has surely ended', async () => {
  const { slack, deliveries, send } = await startState();
  const hangs: typeof slack = { ...slack, post: () => never };
  send(1, () => true, { platform: hangs, isShared: false });
  await eventually(() => deliveries().every(({ attempted }) => attempted));
  expect(deliveries().map(({ triedBy }) => triedBy)).toEqual([undefined, undefined]);
  send(2, () => true, { isShared: false });
  await eventually(() => slack.messages.length === 2);
});

test('What became of a request is not stored once another process has taken it up', async () => {
  const { state, slack, clock, deliveries, send } = await startState();
  const answers: Array<() => void> = [];
  const slow: typeof slack = {
    ...slack,
    async post(post) {
      const taken = await slack.post(post);
      await new Promise<void>((resolve) => answers.push(resolve));
      return { ...taken, message: 'of the first' };
    },
  };
  send(1, () => true, { platform: slow });
  await eventually(() => answers.length === 2);
  send(2);
  clock.goOn(15_000);
  await eventually(() => deliveries().every(({ posted }) => posted));
  // Until the second has shown all that there is to show.
  await eventually(() =>
    deliveries().every(({ told, triedBy }) => told === 1 && triedBy === undefined),
  );
  const before = state.current();
  for (const answer of answers) answer();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(state.current()).toBe(before);
  expect(deliveries().map(({ posted }) => posted?.message)).not.toContain('of the first');
});
