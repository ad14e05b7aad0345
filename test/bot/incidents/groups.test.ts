import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newSnooze } from '../../../src/bot/incidents/snoozes.ts';
import { applyReported } from '../../../src/bot/intake/apply-reported.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import {
  type AlertWorld,
  DEV,
  MINUTE,
  OPS,
  openAlertWorld,
  SECOND,
} from '../../helpers/bot/alert-world.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

const openWorld = (places = [OPS] as Array<typeof OPS | typeof DEV>) =>
  openAlertWorld({ startsAt: '2027-01-15T08:00:00Z', places, pollsFast: true });

let made = 0;

/** Another system reports an alert. */
async function report(world: AlertWorld, name: string, intake = 'i1') {
  const said = { key: name, name, state: 'firing', severity: 'critical' } as const;
  const delivery = {
    intake: { id: intake, name: intake, place: placeKey(OPS) },
    alerts: [{ ...said, facts: [{ label: 'host', value: 'db-1' }], links: [] }],
    truncated: 0,
  };
  const around = { nowMs: world.nowMs(), newId: () => `reported-${++made}` };
  await world.change((watching) => applyReported(watching, [delivery], around).watching);
}

/** Titles of all messages, of whichever channel. */
const allTitles = ({ slack }: AlertWorld) => slack.messages.map(({ card }) => card.title);

const labelsOf = (message: { card: Card } | undefined) =>
  message?.card.actions?.map(({ label }) => label);

const all = (count: number, status: string, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${from + at}`, status]));

describe('outages that begin together', () => {
  test('125 over half a minute are two messages in each channel, the first at once', async () => {
    const world = await openWorld([OPS, DEV]);
    await world.see(all(125, 'UP'));
    await world.see(all(1, 'DOWN'));
    expect(allTitles(world)).toEqual(['Name of m0 is down', 'Name of m0 is down']);
    for (let from = 1; from < 125; from += 25) {
      await world.pass(5 * SECOND);
      await world.see(all(Math.min(25, 125 - from), 'DOWN', from));
    }
    await world.pass(2 * MINUTE);
    expect(allTitles(world)).toEqual([
      ...['Name of m0 is down', 'Name of m0 is down'],
      ...['124 services are down', '124 services are down'],
    ]);
    const card = world.slack.messages[2]?.card;
    expect(card && textOf(card)).toMatch(/Name of m1: down: answered 503 to m1\n/);
    expect(card && textOf(card)).toContain('… and 104 more. /monitor list shows all.');
    await world.see(all(125, 'UP'));
    await world.pass(2 * MINUTE);
    expect(allTitles(world).slice(2)).toEqual([
      expect.stringMatching(/^124 services recovered after /),
      expect.stringMatching(/^124 services recovered after /),
    ]);
    expect(world.slack.messages).toHaveLength(4);
  });

  test('a group updates its count only now and then, and shows its end at once', async () => {
    const world = await openWorld();
    await world.see(all(10, 'UP'));
    await world.see(all(3, 'DOWN'));
    const shown = () => world.slack.messages[0]?.titles ?? [];
    expect(shown()).toEqual(['3 services are down']);
    await world.see(all(1, 'DOWN', 3));
    expect(shown()).toHaveLength(1);
    await world.pass(15 * SECOND);
    expect(shown().at(-1)).toBe('4 services are down');
    // A status changes at every poll for ten minutes.
    for (let at = 0; at < 120; at += 1) {
      await world.see({ m3: at % 2 ? 'DOWN' : 'UP' });
      await world.pass(5 * SECOND);
    }
    expect(shown().length).toBeGreaterThan(5);
    // Every 40 seconds while one of it flaps.
    expect(shown().length).toBeLessThanOrEqual(2 + 15);
    await world.see(all(10, 'UP'));
    await world.pass(MINUTE);
    expect(shown().at(-1)).toBe('1 of 4 services is still flapping');
    await world.pass(15 * MINUTE);
    expect(shown().at(-1)).toMatch(/^4 services recovered after /);
    expect(world.slack.messages).toHaveLength(1);
    const card = world.slack.messages[0]?.card;
    expect(card && textOf(card)).toMatch(/Name of m3: stable again: down 61 times in 10 minutes/);
  });

  test('a press that comes while the message is posted or edited is shown at once', async () => {
    const world = await openWorld();
    const shown: Array<string | undefined> = [];
    const presses: Array<Promise<unknown>> = [];
    world.slack.loseAnswers(({ kind, card }) => {
      const id = world.alerts().find((alert) => alert.kind === 'group')?.id ?? '';
      shown.push(labelsOf({ card })?.find((label) => /snooze/i.test(label)));
      const snooze = () =>
        world.incidents().mark(id, 'snoozed', (nowMs) => newSnooze('Ada', nowMs));
      if (presses.length < 2) {
        presses.push(kind === 'post' ? snooze() : world.incidents().endSnoozes(id));
      }
      return undefined;
    });
    await world.see(all(2, 'DOWN'));
    await Promise.all(presses);
    await world.change((watching) => watching);
    expect(shown).toEqual(['Snooze 1 h', 'End snooze', 'Snooze 1 h']);
  });

  test('a lone outage has a message of its own, and one long after a storm too', async () => {
    const world = await openWorld();
    await world.see(all(10, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(2 * MINUTE);
    await world.see({ m1: 'DOWN' });
    expect(allTitles(world)).toEqual(['Name of m0 is down', 'Name of m1 is down']);
    expect(world.alerts().map(({ kind }) => kind)).toEqual(['incident', 'incident']);
    await world.pass(2 * MINUTE);
    await world.see({ m2: 'DOWN', m3: 'DOWN' });
    // The storm is ongoing, but is joined for a minute only.
    await world.pass(MINUTE + 5 * SECOND);
    await world.see({ m4: 'DOWN' });
    expect(allTitles(world).slice(2)).toEqual(['2 services are down', 'Name of m4 is down']);
  });

  test('a monitor of a group that is down again after a minute is a new message', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see(all(3, 'DOWN'));
    await world.see({ m0: 'UP' });
    await world.pass(MINUTE + 5 * SECOND);
    await world.see({ m0: 'DOWN' });
    expect(allTitles(world)).toEqual(['2 of 3 services are still down', 'Name of m0 is down']);
  });

  test('an outage that is alone in its message has all its facts and buttons there', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(20 * SECOND);
    await world.see({ m1: 'DOWN' });
    const [alone, second] = world.slack.messages;
    const labels = ({ parts }: Card) =>
      parts.flatMap((part) => (part.kind === 'facts' ? part.facts.map(({ label }) => label) : []));
    expect(alone && labels(alone.card)).toEqual(['Target', 'Since', 'Cause', 'Kind']);
    expect(second && labels(second.card)).toEqual(['Target', 'Since', 'Cause', 'Kind']);
    expect(labelsOf(second)).toEqual(labelsOf(alone));
    expect(second?.card.link?.url).toBe('https://m1.example/');
    await world.see({ m2: 'DOWN' });
    await world.pass(15 * SECOND);
    expect(second && labels(second.card)).toEqual(['Name of m1', 'Name of m2']);
  });

  test('monitors and the alerts of each intake have messages of their own', async () => {
    const world = await openWorld();
    await world.see(all(5, 'UP'));
    await world.see(all(2, 'DOWN'));
    await report(world, 'Queue');
    await report(world, 'Disk');
    await report(world, 'Login', 'i2');
    await world.see({ m2: 'DOWN' });
    await world.pass(MINUTE);
    expect(allTitles(world)).toEqual([
      '3 services are down',
      'FIRING: Queue',
      'FIRING: Disk',
      'FIRING: Login',
    ]);
    const card = world.slack.messages[2]?.card;
    expect(card && textOf(card)).toContain('host: db-1');
  });

  const history = fc.record({
    outages: fc.array(
      fc.record({
        afterSeconds: fc.constantFrom(0, 5, 5, 10, 20, 40, 60, 65, 100),
        count: fc.constantFrom(1, 1, 1, 2, 5),
        isReported: fc.constantFrom(false, false, false, true),
      }),
      { minLength: 2, maxLength: 12 },
    ),
    /** From when on, and for how long, the platform asks to wait. */
    limits: fc.array(fc.tuple(fc.nat(400), fc.constantFrom(5, 30, 100, 200)), { maxLength: 3 }),
  });

  test('every outage a minute after the last message is a new message, and those of a minute are two at most', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ outages, limits }) => {
        const world = await openWorld();
        await world.see(all(100, 'UP'));
        const startMs = world.nowMs();
        const isLimited = () =>
          limits.some(([from, length]) => {
            const seconds = (world.nowMs() - startMs) / SECOND;
            return from <= seconds && seconds < from + length;
          });
        world.slack.failWith(() =>
          isLimited()
            ? new DeliveryError('wait', { permanent: false, retryAfterMs: 5000 })
            : undefined,
        );
        const postedAtMs = new Map<string, number>();
        const note = () => {
          for (const { id } of world.slack.messages) {
            if (!postedAtMs.has(id)) postedAtMs.set(id, world.nowMs());
          }
        };
        const begun: Array<{ name: string; atMs: number; stream: string; lastMs: number }> = [];
        for (const [at, { afterSeconds, count, isReported }] of outages.entries()) {
          for (let left = afterSeconds; left > 0; left -= 5) {
            await world.pass(5 * SECOND);
            note();
          }
          const lastMs = Math.max(0, ...postedAtMs.values());
          const names = Array.from({ length: count }, (_, of) => `${at}-${of}`);
          const begin = { atMs: world.nowMs(), stream: isReported ? 'intake' : 'monitors', lastMs };
          if (isReported) for (const name of names) await report(world, `Name of ${name}`);
          else await world.see(Object.fromEntries(names.map((name) => [name, 'DOWN'])));
          begun.push(...names.map((name) => ({ ...begin, name: `Name of ${name}` })));
          note();
        }
        world.slack.failWith(undefined);
        await world.pass(10 * MINUTE);
        note();
        const messageOf = (name: string) =>
          world.slack.messages.find(
            ({ card }) =>
              textOf(card).includes(`${name}: `) || `${card.title} `.includes(`${name} `),
          )?.id ?? '';
        for (const { name, atMs, lastMs } of begun) {
          const posted = postedAtMs.get(messageOf(name)) ?? 0;
          expect({ name, isPosted: posted > 0 }).toEqual({ name, isPosted: true });
          if (atMs - lastMs <= MINUTE) continue;
          expect({ name, isNew: posted >= atMs }).toEqual({ name, isNew: true });
        }
        for (const { atMs, stream } of begun) {
          const within = begun.filter(
            (one) => one.stream === stream && one.atMs >= atMs && one.atMs - atMs <= MINUTE,
          );
          const messages = new Set(within.map(({ name }) => messageOf(name)));
          const posted = [...messages].filter((id) => (postedAtMs.get(id) ?? 0) >= atMs);
          expect(posted.length).toBeLessThanOrEqual(2);
        }
      }),
      { numRuns: long ? 300 : 10 },
    );
  }, 600_000);

  test('a second outage soon after the first is alone in its message until a third comes', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see({ m0: 'DOWN' });
    await world.pass(10 * SECOND);
    await world.see({ m1: 'DOWN' });
    expect(allTitles(world)).toEqual(['Name of m0 is down', 'Name of m1 is down']);
    await world.pass(20 * SECOND);
    await world.see({ m2: 'DOWN' });
    await world.pass(MINUTE);
    expect(allTitles(world)).toEqual(['Name of m0 is down', '2 services are down']);
  });

  test('a monitor that is removed while down is shown as no longer watched, never as recovered', async () => {
    const world = await openWorld();
    await world.see(all(6, 'UP'));
    await world.see(all(2, 'DOWN'));
    await world.see({ m0: 'DEGRADED', m1: 'DEGRADED' });
    await world.pass(15 * SECOND);
    expect(allTitles(world)).toEqual(['2 services are degraded']);
    await world.see({ m0: undefined });
    await world.see({ m1: 'UP' });
    await world.pass(10 * SECOND);
    expect(allTitles(world)).toEqual(['2 services: 1 recovered, 1 no longer listed']);
    // One soon after others is alone in a group of its own.
    await world.see({ m2: 'DOWN' });
    await world.see({ m2: undefined });
    await world.pass(10 * SECOND);
    expect(world.alerts().filter(({ kind }) => kind === 'group')).toHaveLength(2);
    expect(allTitles(world).at(-1)).toBe('Name of m2 is no longer listed');
  });

  test('a button under them is for all of them', async () => {
    const world = await openWorld();
    await world.see(all(3, 'UP'));
    await world.see(all(3, 'DOWN'));
    await world.see({ m2: 'UP' });
    const id = world.slack.messages[0]?.card.actions?.[0]?.values.incident ?? '';
    expect(world.incidents().get(id)).toHaveLength(3);
    await world.incidents().mark(id, 'acknowledged', (atMs) => ({ by: 'Ada', atMs }));
    await world.pass(MINUTE);
    const card = world.slack.messages[0]?.card;
    expect(card && textOf(card).match(/acknowledged by Ada/g)).toHaveLength(2);
    expect(card?.actions?.map(({ label }) => label)).toEqual(['Snooze 1 h', 'Ask why']);
  });

  test('a lone outage is posted at once although a group waits for its turn', async () => {
    const world = await openWorld();
    await world.see(all(5, 'UP'));
    await world.see({ m0: 'DOWN', m1: 'DOWN' });
    await world.pass(6 * MINUTE);
    // The group has something to say, and waits.
    await world.see({ m0: 'UP' });
    await eventually(() => world.slack.messages[0]?.titles.length === 2);
    await world.see({ m0: 'DOWN' });
    await world.see({ m0: 'UP' });
    await world.see({ m4: 'DOWN' });
    expect(allTitles(world)).toContain('Name of m4 is down');
  });
});
