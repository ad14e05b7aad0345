import { expect, onTestFinished, test, vi } from 'vitest';
import { createChannelDefaults } from '../../src/bot/ask/channel-defaults.ts';
import { conversationKey, createConversations } from '../../src/bot/ask/conversations.ts';
import { createShownAnswers } from '../../src/bot/ask/shown-answers.ts';
import { openUnfinishedAnswers } from '../../src/bot/ask/unfinished-answers.ts';
import { createChannels } from '../../src/bot/channels/channels.ts';
import { createPersonPlaces } from '../../src/bot/channels/person-places.ts';
import { createFeedback } from '../../src/bot/feedback/feedback.ts';
import { openForget } from '../../src/bot/forget.ts';
import { newDelivery } from '../../src/bot/incidents/incidents.ts';
import { type Report, type Reported, reportedId } from '../../src/bot/incidents/watch-state.ts';
import { createIntakes } from '../../src/bot/intake/intakes.ts';
import { type Place, placeKey } from '../../src/bot/shared/place.ts';
import { openSeenInvocations } from '../../src/bot/shared/seen-invocations.ts';
import { createUsageLog } from '../../src/bot/usage/usage-log.ts';
import { openWatchState } from '../../src/bot/watch/watch-store.ts';
import { createHandClock } from '../helpers/bot/hand-clock.ts';
import { group, incident, NOTHING_WATCHED } from '../helpers/bot/watch-changes.ts';
import { mortalStore } from '../helpers/mortal-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { filesWith, openTestStore } from '../helpers/test-store.ts';

const SHOP: Place = { platform: 'slack', channel: 'T0SHOP/C1' };
const HOME: Place = { platform: 'slack', channel: 'T0HOME/C1' };

/** All that is kept of places, opened on a folder; the store refuses every write after so many, as a dead process does. */
async function open(
  folder: string,
  { writes = Number.POSITIVE_INFINITY, alertPlaces = [] as Place[] } = {},
) {
  const { log, lines } = recordingLog();
  const real = await openTestStore({ folder, log });
  onTestFinished(() => real.close());
  const life = { writes: Number.POSITIVE_INFINITY };
  const store = mortalStore(real, life, log);
  const clock = createHandClock(1_800_000_000_000);
  const { nowMs } = clock;
  vi.spyOn(Date, 'now').mockImplementation(nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const conversations = createConversations(store);
  const seenInvocations = openSeenInvocations(store);
  const timing = { clock, random: () => 0.5, log };
  const kept = {
    ...{ conversations, seenInvocations },
    channels: createChannels(store),
    channelDefaults: createChannelDefaults(store),
    usageLog: createUsageLog(store),
    places: createPersonPlaces(store, { hasHomes: (name) => name === 'slack', log, nowMs }),
    shownAnswers: createShownAnswers(store),
    unfinished: await openUnfinishedAnswers(store, { conversations, seenInvocations, ...timing }),
    state: await openWatchState(store),
    feedback: createFeedback(store, { days: 90 }),
    intakes: await createIntakes(store),
  };
  const { usageLog, places, shownAnswers, feedback, intakes } = kept;
  const forgetting = await openForget(store, {
    ...kept,
    others: [usageLog, places, shownAnswers],
    features: [
      feedback,
      {
        places: async () => intakes.places(),
        forgetPlaces: (gone) => intakes.forgetPlaces(gone),
      },
    ],
    alertPlaces,
    log,
  });
  life.writes = writes;
  return { ...kept, ...forgetting, nowMs, lines, life, close: () => real.close() };
}

/** Fills every store for a place, twice, with the name of its workspace in each text. */
async function live(kept: Awaited<ReturnType<typeof open>>, place: Place) {
  const { feedback, seenInvocations } = kept;
  const team = place.channel.split('/')[0] ?? '';
  const person = { id: `U-${team}`, name: `ada of ${team}` };
  for (const n of [1, 2]) {
    const key = conversationKey(place, 'thread');
    await kept.conversations.add(key, { question: `${team} ${n}?`, answer: team, atMs: n });
    const monitor = { id: `${n}`, name: `shop of ${team}`, target: 'https://shop.example' };
    await kept.channels.add(place, monitor);
    await kept.intakes.add(place, { kind: 'generic', name: `${n} of ${team}`, by: person.name });
    await kept.channelDefaults.change(place, { prompt: `You are ${n} of ${team}` });
    const tokens = { model: 'm', tokens: 5, atMs: kept.nowMs() - n };
    await kept.usageLog.add({ place, person: person.id, name: person.name, ...tokens });
    await kept.places.note({ place: { ...place, channel: `${place.channel}${n}` }, person });
    await kept.shownAnswers.add(place, `m${n}`, { place, thread: `of ${team}` });
    const at = { place: placeKey(place), thread: 'thread' };
    const calls = [{ tool: 'list_monitors', input: '{}', result: `looked up ${n} for ${team}` }];
    await feedback.evidence.keep(at, `${team}-r${n}`, calls);
    const said = { question: `rated ${n} of ${team}?`, answer: team, calls };
    const by = { ...at, person: person.id, invocation: `rate ${n}` };
    await feedback.rate(`${team}-r${n}`, 'bad', by, { model: 'm', times: {}, said });
    const answer = { kind: 'answer', id: `${team}-${n}`, question: `what of ${team}?` } as const;
    const gesture = { id: `g ${team} ${n}`, request: { line: '/ask' }, place, person };
    const kind = { isQuestion: true, private: false };
    await seenInvocations.once({ ...gesture, id: `done ${team} ${n}` }, kind);
    await seenInvocations.finish(`done ${team} ${n}`);
    await seenInvocations.once(gesture, kind);
    await kept.unfinished
      .track({ ...answer, private: false, async *stream() {} }, gesture, { async putOff() {} })
      .begin({ thread: 'thread' });
    const ofMonitor = { ...incident(`i${n}`), openedAtMs: n, deliveries: [] };
    const several = {
      ...{ ...group(`g${team}`, [], n), openedAtMs: n, place: placeKey(place) },
      deliveries: [newDelivery(placeKey(place), `p${n}`)],
    };
    const delivery = newDelivery(placeKey(place), `post ${n}`);
    const report: Report = {
      ...{ kind: 'report', id: `r${team}`, version: 1, openedAtMs: n, place: placeKey(place) },
      ...{ dueMs: n, card: { tone: 'good', title: `Report of ${team}`, parts: [] } },
      deliveries: [newDelivery(placeKey(place), `r${n}`)],
    };
    const fired: Reported = {
      ...{ id: reportedId(team, `${n}`), intake: team, place: placeKey(place), key: `${n}` },
      ...{ name: `Queue of ${team}`, status: 'FIRING', startedAtMs: n, lastReportAtMs: n },
    };
    const details = { place: placeKey(place), facts: [{ label: 'job', value: team }], links: [] };
    const ofAlert = {
      ...{ ...ofMonitor, id: `a${team}`, monitorId: fired.id, intake: team, reported: details },
      deliveries: [newDelivery(placeKey(place), `a${n}`)],
    };
    const ofOnePlace = [several, report, ofAlert];
    await kept.state.update((now = NOTHING_WATCHED) => {
      const old = now.alerts.find(({ id }) => id === ofMonitor.id);
      const deliveries = [...(old?.deliveries ?? []), delivery];
      const anew = new Set([ofMonitor, ...ofOnePlace].map(({ id }) => id));
      const others = now.alerts.filter(({ id }) => !anew.has(id));
      return {
        ...now,
        alerts: [...others, { ...ofMonitor, deliveries }, ...ofOnePlace],
        reported: [...(now.reported ?? []), fired],
      };
    });
  }
}

/** A folder of two workspaces, closed. */
async function lived(): Promise<string> {
  const folder = await temporaryFolder();
  const kept = await open(folder);
  for (const place of [SHOP, HOME]) await live(kept, place);
  const kinds = new Set((await filesWith('T0SHOP', folder)).map((name) => name.split('/')[0]));
  expect([...kinds].sort()).toEqual([
    ...[
      'answer-evidence',
      'answer-usage',
      'channel-asking',
      'channels',
      'conversations',
      'feedback',
    ],
    ...['intakes', 'person-places', 'seen', 'shown-answers', 'unfinished-answers', 'watching'],
  ]);
  await kept.close();
  return folder;
}

/** Data of the workspace that stays. */
async function expectHome(kept: Awaited<ReturnType<typeof open>>) {
  expect(await kept.feedback.countsIn(placeKey(HOME), 0)).toEqual([
    { model: 'm', good: 0, bad: 2 },
  ]);
  expect(await kept.feedback.countsIn(placeKey(SHOP), 0)).toEqual([]);
  const texts = (await kept.conversations.turns(conversationKey(HOME, 'thread'))).map(
    (turn) => turn.question,
  );
  expect(texts).toEqual(['T0HOME 1?', 'T0HOME 2?']);
  expect(await kept.conversations.turns(conversationKey(SHOP, 'thread'))).toEqual([]);
  expect((await kept.channels.places()).map(placeKey)).toEqual([placeKey(HOME)]);
  expect(await kept.channelDefaults.of(HOME)).toEqual({ prompt: 'You are 2 of T0HOME' });
  expect(kept.intakes.places()).toEqual([placeKey(HOME)]);
  expect(await kept.usageLog.since(HOME, kept.nowMs() - 10)).toHaveLength(2);
  expect(await kept.places.of('slack', 'U-T0HOME')).toHaveLength(2);
  expect(await kept.shownAnswers.of(HOME, 'm1')).toBeDefined();
  const alerts = kept.state.current()?.alerts ?? [];
  expect(alerts.filter(({ kind }) => kind === 'incident')).toHaveLength(3);
  expect(kept.state.current()?.reported?.map(({ place }) => place)).toEqual(
    Array(2).fill(placeKey(HOME)),
  );
  expect(alerts.filter(({ kind }) => kind === 'report')).toHaveLength(1);
  const told = alerts.flatMap(({ deliveries }) => deliveries.map(({ place }) => place));
  expect(new Set(told)).toEqual(new Set([placeKey(HOME)]));
}

test('a workspace that left is in no file, and the others are unchanged', async () => {
  const folder = await lived();
  const kept = await open(folder);
  await kept.forgetAll({ platform: 'slack', channels: [], prefix: 'T0SHOP/' });
  expect(await filesWith('T0SHOP', folder)).toEqual([]);
  await expectHome(kept);
});

test('a deleted channel is in no file', async () => {
  const folder = await lived();
  const kept = await open(folder);
  await kept.forget({ platform: 'slack', channel: 'T0SHOP/C12' });
  expect(await kept.places.of('slack', 'U-T0SHOP')).toHaveLength(1);
  expect(await filesWith('T0SHOP/C12', folder)).toEqual([]);
  await kept.forget(SHOP);
  await kept.forget({ platform: 'slack', channel: 'T0SHOP/C11' });
  expect(await filesWith('T0SHOP', folder)).toEqual([]);
  await expectHome(kept);
});

test('a deleted thread is in no file', async () => {
  const folder = await lived();
  const kept = await open(folder);
  await kept.forget(SHOP, 'thread');
  expect(await filesWith('T0SHOP 1?', folder)).toEqual([]);
  expect(await filesWith('what of T0SHOP?', folder)).toEqual([]);
  expect(await filesWith('rated 1 of T0SHOP?', folder)).toEqual([]);
  expect(await filesWith('for T0SHOP', folder)).toEqual([]);
  expect(await kept.channelDefaults.of(SHOP)).toEqual({ prompt: 'You are 2 of T0SHOP' });
});

test('a channel with every alert gets ongoing incidents again after it comes back', async () => {
  const folder = await lived();
  const kept = await open(folder, { alertPlaces: [SHOP] });
  await kept.state.update((now) => {
    if (!now) return now;
    const shut = { sinceMs: 1, refused: ['new' as const], tries: 1, triedAtMs: 1, nextTryAtMs: 2 };
    const closed = [SHOP, HOME].map((place) => ({ place: placeKey(place), ...shut }));
    const alerts = now.alerts.map((alert) =>
      alert.id === 'i1' && alert.kind === 'incident' ? { ...alert, endedAtMs: 3 } : alert,
    );
    return { ...now, alerts, closed };
  });
  await kept.forgetAll({ platform: 'slack', channels: [], prefix: 'T0SHOP/' });
  const { alerts = [], closed } = kept.state.current() ?? {};
  const waiting = alerts.flatMap(({ id, deliveries }) =>
    deliveries.filter(({ place }) => place === placeKey(SHOP)).map((one) => ({ id, ...one })),
  );
  expect(waiting).toEqual([{ id: 'i2', ...newDelivery(placeKey(SHOP), 'i2') }]);
  expect(closed?.map(({ place }) => place)).toEqual([placeKey(HOME)]);
  expect(await filesWith('of T0SHOP', folder)).toEqual([]);
});

test('the next start completes a deletion that a kill interrupted at any write', async () => {
  let writes = 1;
  for (let isDone = false; !isDone; writes += 1) {
    const folder = await lived();
    const first = await open(folder, { writes });
    const forgetting = first.forgetAll({ platform: 'slack', channels: [], prefix: 'T0SHOP/' });
    await forgetting.catch(() => {});
    isDone = first.life.writes >= 0;
    await first.close();
    // `openUnfinishedAnswers` reads them at a start; then they are deleted.
    const second = await open(folder);
    expect(await filesWith('T0SHOP', folder), `killed after ${writes} writes`).toEqual([]);
    await expectHome(second);
    expect(second.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    await second.close();
  }
  expect(writes).toBeGreaterThan(10);
});
