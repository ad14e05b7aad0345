import { describe, expect, onTestFinished, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { createIncidents } from '../../../src/bot/incidents/incident-service.ts';
import { newSnooze } from '../../../src/bot/incidents/snoozes.ts';
import { type Incident, incidentsIn } from '../../../src/bot/incidents/watch-state.ts';
import { Silencer, silenceFor } from '../../../src/bot/intake/silences.ts';
import { systemClock } from '../../../src/bot/shared/clock.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { createAlertmanagerClient } from '../../../src/clients/alertmanager.ts';
import { HIDDEN } from '../../../src/contracts/secret-values.ts';
import { startFakeAlertmanager } from '../../fakes/alertmanager.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasAlertmanager, startAlertmanager } from '../../helpers/intake/real-alertmanager.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const LABELS = { alertname: 'Down "now"', instance: 'db-1\\x', job: 'ä=b,c', password: HIDDEN };

/** Waits as long as it may take, but no longer than a test can wait. */
const clock = {
  ...systemClock,
  pause: (ms: number, signal: AbortSignal) => systemClock.pause(Math.min(ms, 10), signal),
};

function incident(change: Partial<Incident> = {}): Incident {
  return {
    ...{ kind: 'incident', id: 'i1', version: 1, openedAtMs: 1, deliveries: [] },
    ...{ monitorId: 'alert:1', name: 'Down', target: 'Alertmanager', checkType: 'ALERT' },
    ...{ status: 'FIRING', startedAtMs: 1, intake: 'intake1' },
    reported: { place: 'console:general', facts: [], links: [], labels: LABELS },
    ...change,
  };
}

/** A watch that knows an incident whose snoozes are silences at `url`. */
async function start(url: string, first = incident()) {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const state = await openWatchState(store);
  await state.update(() => ({ known: [], isLearned: true, shortLists: 0, alerts: [first] }));
  const lives: Array<{ stop(): Promise<void> }> = [];
  let wake = () => {};
  function live() {
    const client = createAlertmanagerClient(url);
    const silencer = new Silencer({
      ...{ state, clock, random: Math.random, onChange: () => {}, log },
      clientFor: () => client,
    });
    const life = {
      async stop() {
        await silencer.stop();
        await client.close();
      },
    };
    lives.push(life);
    wake = () => silencer.wake();
    silencer.start();
    return life;
  }
  const incidents = createIncidents({
    ...{ state, nowMs: Date.now, onChange: () => wake() },
    silenceFor: (one) => silenceFor(one, { hasAddress: true }),
  });
  onTestFinished(async () => {
    await Promise.all(lives.map((life) => life.stop()));
    await store.close();
  });
  const now = () => incidentsIn(state.current()?.alerts ?? []).find(({ id }) => id === first.id);
  return {
    live,
    now,
    state,
    snooze: () => incidents.mark(first.id, 'snoozed', (atMs) => newSnooze('Grace', atMs)),
    unsnooze: () => incidents.endSnoozes(first.id),
    /** Leaves the state of a process that died after its request. */
    asked: () =>
      state.update((watching) => {
        const [alert, ...others] = watching?.alerts ?? [];
        if (!watching || alert?.kind !== 'incident' || !alert.snoozed) return watching;
        const snoozed = { ...alert.snoozed, silence: { status: 'requested' as const } };
        return { ...watching, alerts: [{ ...alert, snoozed }, ...others] };
      }),
    /** The text of the card. */
    shown() {
      const known = now();
      return known ? textOf(alertCard(known, { shownOpen: true })) : '';
    },
  };
}

/** A snooze whose silence a fake Alertmanager has answered in some way. */
async function startSnoozed(
  fake: Awaited<ReturnType<typeof startFakeAlertmanager>>,
  status: NonNullable<NonNullable<Incident['snoozed']>['silence']>['status'] = 'created',
) {
  const world = await start(fake.url);
  const life = world.live();
  await world.snooze();
  await eventually(() => world.now()?.snoozed?.silence?.status === status);
  return { ...world, stop: life.stop };
}

const KINDS = [
  {
    name: 'a fake Alertmanager',
    isHere: true,
    async begin() {
      const fake = await startFakeAlertmanager();
      return { url: fake.url, silences: async () => fake.silences };
    },
  },
  { name: 'a real Alertmanager', isHere: hasAlertmanager, begin: startAlertmanager },
];

for (const { name, isHere, begin } of KINDS) {
  describe.skipIf(!isHere)(name, () => {
    test('has a silence of the labels, with any value of a secret one, until the snooze is over, or ended', async () => {
      const { url, silences } = await begin();
      const { live, now, snooze, unsnooze, shown } = await start(url);
      live();
      await snooze();
      await eventually(() => now()?.snoozed?.silence?.status === 'created');
      const untilMs = now()?.snoozed?.untilMs ?? 0;
      expect(shown()).toContain(`Silenced in Alertmanager until: at ${untilMs}`);
      const [silence, ...others] = await silences();
      expect(others).toEqual([]);
      expect(silence).toMatchObject({
        id: now()?.snoozed?.silence?.id,
        createdBy: 'Grace',
        state: 'active',
      });
      expect(Date.parse(silence?.endsAt ?? '')).toBe(untilMs);
      expect(silence?.matchers.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
        Object.entries(LABELS).map(([label, value]) => ({
          ...(value === HIDDEN ? { value: '(?s:.+)', isRegex: true } : { value, isRegex: false }),
          ...{ name: label, isEqual: true },
        })),
      );
      expect(await unsnooze()).toBe(true);
      await eventually(() => now()?.silenceEnd?.status === 'ended');
      expect(shown()).toContain('Silence in Alertmanager: ended');
      expect((await silences()).map(({ state }) => state)).toEqual(['expired']);
    });

    test('is looked into for what a process asked for that died then', async () => {
      const { url, silences } = await begin();
      const { live, now, snooze, asked } = await start(url);
      await snooze();
      const untilMs = now()?.snoozed?.untilMs ?? 0;
      const client = createAlertmanagerClient(url);
      onTestFinished(() => client.close());
      const comment = `Snoozed in Askwatch until ${new Date(untilMs).toISOString()} (i1 ${untilMs})`;
      const { signal } = new AbortController();
      const id = await client.silence({ labels: LABELS, untilMs, by: 'Grace', comment }, signal);
      await asked();
      live();
      await eventually(() => now()?.snoozed?.silence?.status === 'created');
      expect(now()?.snoozed?.silence?.id).toBe(id);
      expect(await silences()).toHaveLength(1);
    });

    test('ends what is over or unknown without a complaint', async () => {
      const { url } = await begin();
      const client = createAlertmanagerClient(url);
      onTestFinished(() => client.close());
      const { signal } = new AbortController();
      const untilMs = Date.now() + 60_000;
      const id = await client.silence({ labels: LABELS, untilMs, by: 'G', comment: 'c' }, signal);
      expect(await client.silencesOf({ labels: LABELS, comment: 'c' }, signal)).toEqual([id]);
      expect(await client.silencesOf({ labels: LABELS, comment: 'd' }, signal)).toEqual([]);
      await client.expire(id, signal);
      await client.expire(id, signal);
      await client.expire('4d6d9a52-1f9c-4bd1-8d4b-3a7b4ab8d5f0', signal);
      expect(await client.silencesOf({ labels: LABELS, comment: 'c' }, signal)).toEqual([]);
      const past = { labels: LABELS, untilMs: Date.now() - 60_000, by: 'G', comment: 'c' };
      await expect(client.silence(past, signal)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/past|end/),
      });
    });
  });
}

test('the message quotes why a silence was refused', async () => {
  const fake = await startFakeAlertmanager();
  fake.make(() => 'refuse');
  const { now, unsnooze, shown } = await startSnoozed(fake, 'refused');
  expect(shown()).toContain('Not silenced in Alertmanager: bad matcher format: <@here> no');
  expect(fake.requests).toEqual(['POST /api/v2/silences']);
  // There is none to end.
  await unsnooze();
  expect(now()).not.toHaveProperty('silenceEnd');
});

test.each(['fail', 'break'] as const)(
  'the message says that a silence got no answer: %s',
  async (what) => {
    const fake = await startFakeAlertmanager();
    fake.make((method) => (method === 'POST' ? what : undefined));
    const { now, unsnooze, shown } = await startSnoozed(fake, 'unknown');
    expect(shown()).toContain('Possibly not silenced in Alertmanager: ');
    expect(fake.requests.filter((one) => one.startsWith('POST'))).toHaveLength(3);
    expect(fake.requests.filter((one) => one.startsWith('GET'))).toHaveLength(2);
    await unsnooze();
    await eventually(() => now()?.silenceEnd?.status === 'ended');
  },
);

test('a silence whose answer was lost is found and not created twice', async () => {
  const fake = await startFakeAlertmanager();
  fake.make((method) => (method === 'POST' ? 'lose the answer' : undefined));
  await startSnoozed(fake);
  expect(fake.silences).toHaveLength(1);
});

test('a silence under way is ended if its snooze ends in the meantime', async () => {
  const fake = await startFakeAlertmanager();
  fake.make((method) => (method === 'POST' ? 'hang' : undefined));
  const { now, unsnooze, shown } = await startSnoozed(fake, 'requested');
  expect(shown()).toContain('Silence in Alertmanager: requested, not confirmed yet');
  await eventually(() => fake.requests.length > 0);
  await unsnooze();
  expect(shown()).toContain('Silence in Alertmanager: end requested');
  fake.release();
  await eventually(() => now()?.silenceEnd?.status === 'ended');
  expect(fake.silences.map(({ state }) => state)).toEqual(['expired']);
});

test('a silence is ended before the next one is created', async () => {
  const fake = await startFakeAlertmanager();
  const { live, now, snooze, unsnooze, stop } = await startSnoozed(fake);
  await stop();
  await unsnooze();
  await snooze();
  live();
  await eventually(() => now()?.snoozed?.silence?.status === 'created');
  expect(fake.silences.map(({ state }) => state)).toEqual(['expired', 'active']);
  await unsnooze();
  await eventually(() => now()?.silenceEnd?.status === 'ended');
  expect(fake.silences.map(({ state }) => state)).toEqual(['expired', 'expired']);
});

test('the message says that ending a silence was refused', async () => {
  const fake = await startFakeAlertmanager();
  const { now, snooze, unsnooze, shown } = await startSnoozed(fake);
  fake.make(() => 'refuse');
  await unsnooze();
  await eventually(() => now()?.silenceEnd?.status === 'refused');
  expect(shown()).toContain(
    'Still silenced in Alertmanager: ending it was refused: bad matcher format',
  );
  // The next silence doesn't mention it.
  fake.make(() => undefined);
  await snooze();
  await eventually(() => now()?.snoozed?.silence?.status === 'created');
  expect(shown()).not.toContain('Still silenced');
});

test('the message says that a silence needs all labels', async () => {
  const fake = await startFakeAlertmanager();
  const unlabelled = { place: 'console:general', facts: [], links: [] };
  const { live, snooze, shown } = await start(fake.url, incident({ reported: unlabelled }));
  live();
  await snooze();
  expect(shown()).toContain('Not silenced in Alertmanager: not all of its labels are known');
  expect(fake.requests).toEqual([]);
  expect(silenceFor(incident(), { hasAddress: false })).toBe(undefined);
});

test('the message says that Alertmanager asked for credentials', async () => {
  const fake = await startFakeAlertmanager({ credentials: 'user:p%40ss' });
  const url = fake.url.replace('user:p%40ss@', '');
  const { shown } = await startSnoozed({ ...fake, url }, 'refused');
  expect(shown()).toContain('Not silenced in Alertmanager: Unauthorized');
});

test('credentials of an address go with each call', async () => {
  const fake = await startFakeAlertmanager({ credentials: 'user:pass' });
  const client = createAlertmanagerClient(fake.url);
  onTestFinished(() => client.close());
  const { signal } = new AbortController();
  expect(await client.silencesOf({ labels: LABELS, comment: 'c' }, signal)).toEqual([]);
});
