import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { heldForMs, nextFor } from '../../../src/bot/incidents/delivery.ts';
import type { WatchState } from '../../../src/bot/incidents/watch-state.ts';
import type { Clock } from '../../../src/bot/shared/clock.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { createLife } from '../../helpers/bot/killable-life.ts';
import {
  createScriptedPlatform,
  type ScriptedPlatform,
} from '../../helpers/bot/scripted-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const SLACK = { platform: 'slack', channel: 'C1' } as const;
const DISCORD = { platform: 'discord', channel: 'D1' } as const;
const PLACES = [SLACK, DISCORD].map(placeKey);

/** Long enough that nothing flaps, and short enough that outages of two polls share a message. */
const LOOK_MS = 4 * 60_000;

/** The statuses of monitors `a`, `b`, … at one poll. */
type Statuses = readonly string[];

async function openWorld() {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ log });
  const durable = await openWatchState(store);
  const slack = createScriptedPlatform('slack');
  const discord = createScriptedPlatform('discord');
  let nowMs = 1_800_000_000_000;
  let made = 0;

  const clock: Clock = {
    nowMs: () => nowMs,
    async pause(ms, signal) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!signal.aborted) nowMs += ms;
    },
  };

  /** Starts the program over the stored state. */
  async function live(killAt = 0) {
    // A write under way during a kill may be there at the next start or not.
    await durable.update((watching) => watching);
    const life = createLife(killAt);
    const state: Pick<WatchState, 'current' | 'update'> = {
      current: durable.current,
      update: (change) => life.step(() => durable.update(change)),
    };
    const through = (platform: ScriptedPlatform): ScriptedPlatform => ({
      ...platform,
      post: (post) => life.step(() => platform.post(post)),
      update: (...update) => life.step(() => platform.update(...update)),
      announce: (line) => life.step(() => platform.announce(line)),
    });
    const sender = createSender({
      state,
      alertPlaces: [SLACK, DISCORD],
      clock,
      random: () => 0.5,
      log,
    });
    sender.start([through(slack), through(discord)]);
    return {
      life,
      sender,
      async poll(statuses: Statuses) {
        nowMs += LOOK_MS;
        const monitors = statuses.map((status, index): Monitor => {
          const id = 'abcdef'.charAt(index);
          const target = `https://${id}.example`;
          return { id, name: id, check_type: 'HTTP', target, status, interval_seconds: 60 };
        });
        await Promise.race([
          state.update(
            (watching) =>
              applyPoll(watching, monitors, {
                nowMs,
                newId: () => {
                  made += 1;
                  return `incident-${made}`;
                },
                placesFor: () => PLACES,
              }).watching,
          ),
          life.over,
        ]);
        sender.wake();
      },
    };
  }

  const isSettled = () =>
    (durable.current()?.alerts ?? []).every((alert) =>
      alert.deliveries.every(
        ({ deliveredVersion, dead, line }) =>
          dead !== undefined || (deliveredVersion === alert.version && !line),
      ),
    );

  /** Askwatch doesn't know if the message has shown an ongoing outage. */
  const triedOpen = (message: string) =>
    (durable.current()?.alerts ?? []).some(({ deliveries }) =>
      deliveries.some(({ posted, triedOpen }) => posted?.message === message && triedOpen),
    );

  return {
    live,
    triedOpen,
    slack,
    discord,
    durable,
    isSettled,
    lines,
    store,
    skip: (ms: number) => (nowMs += ms),
  };
}

/** Lets the sender work a little. */
async function turns(count: number) {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Texts about a monitor in a channel: its own messages, or its lines in groups. */
function saidOf({ messages }: ScriptedPlatform, monitor: string) {
  return messages.flatMap(({ id, card, titles, lines }) => {
    const facts = card.parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
    const line = facts.find(({ label }) => label === monitor)?.value;
    if (typeof line === 'string') {
      const [, times = '1'] = /, down (\d+) times/.exec(line) ?? [];
      return [
        { outages: Number(times), isDown: /^down(:|,|$)/.test(line), id, titles, card, lines },
      ];
    }
    if (!card.title.startsWith(`${monitor} `)) return [];
    const countIn = (name: string) =>
      Number.parseInt(String(facts.find(({ label }) => label === name)?.value), 10) || 0;
    // A group with one member counts all outages, an incident the ones before it.
    const outages = countIn('Outages') || 1 + countIn('Also down before');
    return [{ outages, isDown: card.title === `${monitor} is down`, id, titles, card, lines }];
  });
}

const isDownTitle = (title: string) => / (is|are) (still )?down/.test(title);

/** Outages of a monitor that a channel's messages count. */
const toldOutages = (platform: ScriptedPlatform, monitor: string) =>
  saidOf(platform, monitor).reduce((sum, { outages }) => sum + outages, 0);

function countOutages(history: readonly Statuses[], index: number): number {
  return history.filter(
    (statuses, at) => at > 0 && statuses[index] === 'DOWN' && history[at - 1]?.[index] !== 'DOWN',
  ).length;
}

test('the sender delivers every outage exactly once and ends with the true status, whatever fails and whenever it is killed', async () => {
  const statuses = fc.tuple(fc.constantFrom('UP', 'DOWN'), fc.constantFrom('UP', 'DOWN'));
  const trouble = fc.record({
    history: fc.array(statuses, { minLength: 2, maxLength: 10 }),
    kills: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }),
    refusals: fc.array(fc.constantFrom('', '', 'refused', 'lost'), { maxLength: 30 }),
    work: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 10, maxLength: 10 }),
  });
  await fc.assert(
    fc.asyncProperty(trouble, async ({ history, kills, refusals, work }) => {
      const { live, slack, discord, isSettled, triedOpen, store } = await openWorld();
      for (const platform of [slack, discord]) {
        const faults = [...refusals];
        let fault = '';
        platform.failWith(() => {
          fault = faults.shift() ?? '';
          return fault === 'refused'
            ? new DeliveryError('away', { permanent: false, retryAfterMs: 3000 })
            : undefined;
        });
        platform.loseAnswers(() => (fault === 'lost' ? new Error('no answer') : undefined));
      }
      const left = [...kills];
      let program = await live();
      await program.poll(['UP', 'UP']);
      program.life.kill();
      program = await live(left.shift());
      for (const [at, seen] of history.entries()) {
        for (;;) {
          await program.poll(seen);
          await turns(work[at % work.length] ?? 0);
          if (!program.life.dead) break;
          program = await live(left.shift());
        }
      }
      program.life.kill();
      program = await live();
      await eventually(isSettled);
      await program.sender.stop();
      await store.close();
      const all = [['UP', 'UP'], ...history];
      for (const platform of [slack, discord]) {
        for (const [index, monitor] of ['a', 'b'].entries()) {
          expect(toldOutages(platform, monitor)).toBe(countOutages(all, index));
          const said = saidOf(platform, monitor);
          const isDown = all.at(-1)?.[index] === 'DOWN';
          expect(said.filter((one) => one.isDown)).toHaveLength(isDown ? 1 : 0);
          for (const { id, card, titles, lines } of said) {
            expect(titles.at(-1)).toBe(card.title);
            const isSeen = titles.slice(0, -1).some(isDownTitle);
            // Nothing recovers that wasn't reported as down.
            if (card.title.includes('recovered')) expect(isSeen).toBe(true);
            const isOver = !isDownTitle(card.title);
            // An edit whose answer was lost may have been shown.
            if (isOver && !isSeen && triedOpen(id)) continue;
            // A line only if people saw the outage begin.
            const end = expect.stringMatching(/ after .*min/);
            expect([...lines.values()]).toEqual(isOver && isSeen ? [end] : []);
          }
        }
      }
    }),
    { numRuns: long ? 500 : 6 },
  );
}, 600_000);

test('many flaps while a platform is away become one message, which counts them', async () => {
  const flaps = long ? 20 : 8;
  const { live, slack, discord, isSettled, store } = await openWorld();
  slack.failWith(() => new DeliveryError('away', { permanent: false }));
  const program = await live();
  await program.poll(['UP']);
  for (let flap = 0; flap < flaps; flap += 1) {
    await program.poll(['DOWN']);
    await eventually(() => discord.messages.length === flap + 1);
    await program.poll(['UP']);
  }
  expect(slack.messages).toEqual([]);
  slack.failWith(undefined);
  await eventually(isSettled);
  await program.sender.stop();
  await store.close();
  expect(slack.messages.map(({ card }) => card.title)).toEqual([`a was down ${flaps} times`]);
  expect(toldOutages(slack, 'a')).toBe(flaps);
  expect(discord.messages).toHaveLength(flaps);
});

test('a platform that is away holds up no other', async () => {
  const { live, slack, discord, store } = await openWorld();
  let answer = () => {};
  const away = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const program = await live();
  await program.poll(['UP', 'UP']);
  const { post } = slack;
  Object.assign(slack, {
    post: async (what: Parameters<typeof post>[0]) => away.then(() => post(what)),
  });
  await program.poll(['DOWN', 'DOWN']);
  await eventually(() => discord.messages.length === 1);
  expect(slack.messages).toEqual([]);
  answer();
  await eventually(() => slack.messages.length === 1);
  await program.sender.stop();
  await store.close();
});

test('the sender waits as long as a platform asks, and gives up after a day', async () => {
  const { live, slack, discord, durable, lines, isSettled, store } = await openWorld();
  const program = await live();
  await program.poll(['UP']);
  slack.failWith(() => new DeliveryError('slow down', { permanent: false, retryAfterMs: 300_000 }));
  await program.poll(['DOWN']);
  await eventually(isSettled);
  // 86,400 s at one try every 300 s.
  expect(slack.tries).toBe(289);
  const dead = durable
    .current()
    ?.alerts.flatMap(({ deliveries }) => deliveries.filter((one) => one.dead));
  expect(dead).toMatchObject([{ place: 'slack:C1', dead: 'slow down' }]);
  const error = await eventually(() => lines.find(({ level }) => level === 50));
  expect(error).toMatchObject({ place: 'slack:C1', why: 'slow down' });
  expect(discord.messages.map(({ card }) => card.title)).toEqual([
    'a is down',
    'Alerts do not reach slack:C1',
  ]);
  await program.sender.stop();
  await store.close();
});

test('a message that cannot be changed for good is posted anew', async () => {
  const { live, slack, discord, isSettled, store } = await openWorld();
  const program = await live();
  await program.poll(['UP']);
  await program.poll(['DOWN']);
  await eventually(isSettled);
  slack.failWith(({ kind }) =>
    kind === 'update' ? new DeliveryError('message_not_found', { permanent: true }) : undefined,
  );
  await program.poll(['UP']);
  await eventually(isSettled);
  expect(slack.messages.map(({ card }) => card.title)).toEqual([
    'a is down',
    expect.stringMatching(/^a recovered after /),
  ]);
  expect(slack.messages.flatMap(({ lines }) => [...lines.values()])).toEqual([]);
  expect(discord.messages.flatMap(({ lines }) => [...lines.values()])).toHaveLength(1);
  await program.sender.stop();
  await store.close();
});

test.each([
  { answer: 'was lost', shown: [/^a is down$/, /^a recovered after /], lines: 1 },
  {
    answer: 'was a refusal',
    shown: [/^a was down for/, /^a was down for/],
    lines: 0,
  },
])(
  'who saw an outage begin hears of its end, though the only answer before that $answer',
  async ({ answer, shown, lines }) => {
    const { live, slack, isSettled, store } = await openWorld();
    const program = await live();
    await program.poll(['UP']);
    const away = new DeliveryError('away', { permanent: false });
    if (answer === 'was lost') slack.loseAnswers(() => new Error('no answer'));
    slack.failWith(() => (slack.tries > 1 || answer !== 'was lost' ? away : undefined));
    await program.poll(['DOWN']);
    await eventually(() => slack.tries > 1);
    await program.poll(['UP']);
    slack.loseAnswers(undefined);
    slack.failWith(undefined);
    await eventually(isSettled);
    await program.sender.stop();
    await store.close();
    const titles = shown.map((title) => expect.stringMatching(title));
    expect(slack.messages).toMatchObject([{ titles }]);
    expect(slack.messages[0]?.lines.size).toBe(lines);
  },
);

test('a line that cannot be posted is left out, since the message says the same', async () => {
  const { live, slack, discord, durable, isSettled, store } = await openWorld();
  const program = await live();
  await program.poll(['UP']);
  await program.poll(['DOWN']);
  await eventually(isSettled);
  slack.failWith(({ kind }) =>
    kind === 'announce' ? new DeliveryError('thread_locked', { permanent: true }) : undefined,
  );
  await program.poll(['UP']);
  await eventually(isSettled);
  expect(slack.messages).toMatchObject([
    { titles: ['a is down', expect.stringMatching(/^a recovered after /)], lines: new Map() },
  ]);
  expect(discord.messages[0]?.lines.size).toBe(1);
  expect(durable.current()?.alerts[0]?.deliveries).not.toContainEqual(
    expect.objectContaining({ dead: expect.anything() }),
  );
  await program.sender.stop();
  await store.close();
});

test('a message that is held back does not wait for a clock that was set back', () => {
  const nowMs = 1_800_000_000_000;
  const delivery = {
    ...{ place: 'slack:C1', postId: 'a', attempted: true, posted: { message: '1', thread: '1' } },
    ...{ deliveredVersion: 1, failures: 0, nextTryAtMs: 0, heldUntilMs: nowMs + 60_000 },
  };
  const monitoringOutage = {
    ...{
      kind: 'monitoring-outage' as const,
      id: 'b',
      version: 2,
      openedAtMs: nowMs,
      startedAtMs: nowMs,
    },
    ...{ why: 'Away.', deliveries: [delivery] },
  };
  const watching = { known: [], isLearned: true, shortLists: 0, alerts: [monitoringOutage] };
  expect(nextFor(watching, 'slack:C1', nowMs)).toBeUndefined();
  expect(heldForMs(watching, 'slack:C1', nowMs)).toBe(60_000);
  expect(nextFor(watching, 'slack:C1', nowMs + 60_000)?.delivery).toBe(delivery);
  expect(nextFor(watching, 'slack:C1', nowMs - 86_400_000)?.delivery).toBe(delivery);
});

test('a message that shows an outage which is over is changed before one about several says that it is down again', () => {
  const nowMs = 1_800_000_000_000;
  const delivery = (postId: string) => ({
    ...{ place: 'slack:C1', postId, attempted: true, posted: { message: postId, thread: postId } },
    ...{ deliveredVersion: 0, failures: 0, nextTryAtMs: 0 },
  });
  const alert = { version: 2, openedAtMs: nowMs, startedAtMs: nowMs };
  const group = {
    ...{ kind: 'group' as const, id: 'group', ...alert, place: 'slack:C1' },
    ...{ members: [], deliveries: [delivery('several')] },
  };
  // Younger than the group, since it carries the message of an outage before.
  const over = {
    ...{ kind: 'incident' as const, id: 'a1', ...alert, endedAtMs: nowMs },
    ...{ monitorId: 'a', name: 'a', target: 'https://a.example', checkType: 'HTTP', status: 'UP' },
    deliveries: [delivery('own')],
  };
  const watching = { known: [], isLearned: true, shortLists: 0, alerts: [group, over] };
  expect(nextFor(watching, 'slack:C1', nowMs)?.delivery.postId).toBe('own');
  const told = { ...over, deliveries: [{ ...delivery('own'), deliveredVersion: 2 }] };
  const after = { ...watching, alerts: [group, told] };
  expect(nextFor(after, 'slack:C1', nowMs)?.delivery.postId).toBe('several');
});

/** A sender with one place and a clock by hand, which has an outage to tell. */
async function withOutage(platform: ScriptedPlatform) {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const state = await openWatchState(store);
  const clock = createHandClock(1_800_000_000_000);
  const monitor = { id: 'a', name: 'a', check_type: 'HTTP', target: 'https://a.example' };
  for (const status of ['UP', 'DOWN']) {
    const around = { nowMs: clock.nowMs(), newId: () => 'i1', placesFor: () => [placeKey(SLACK)] };
    const listed = [{ ...monitor, status, interval_seconds: 60 }];
    await state.update((watching) => applyPoll(watching, listed, around).watching);
  }
  const sender = createSender({ state, alertPlaces: [SLACK], clock, random: () => 0.5, log });
  sender.start([platform]);
  return { clock, sender, state, close: () => store.close() };
}

test('a stop does not wait for ever for a platform that never answers', async () => {
  const slack = createScriptedPlatform('slack');
  let asked = false;
  const { clock, sender, close } = await withOutage({
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
  await close();
});

test('a clock that is set back by hours does not hold a retry up for hours', async () => {
  const slack = createScriptedPlatform('slack');
  slack.failWith(() => new DeliveryError('later', { permanent: false, retryAfterMs: 60_000 }));
  const { clock, sender, state, close } = await withOutage(slack);
  const delivery = () => state.current()?.alerts[0]?.deliveries[0];
  await eventually(() => (delivery()?.nextTryAtMs ?? 0) > clock.nowMs() && clock.isAwaited());
  clock.goOn(-5 * 3_600_000);
  slack.failWith(undefined);
  // The pause that it began before is over a minute later by any clock; the next one has no reason.
  clock.endPauses();
  await eventually(() => slack.messages.length === 1);
  await sender.stop();
  await close();
});
