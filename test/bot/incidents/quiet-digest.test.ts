import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type QuietHours, readHours } from '../../../src/bot/channels/quiet-hours.ts';
import { DEV, HOUR, MINUTE, OPS, openAlertWorld } from '../../helpers/bot/alert-world.ts';
import { messagesOf } from '../../helpers/bot/messages-of-monitor.ts';
import { textOf } from '../../helpers/bot.ts';
import { long } from '../../helpers/long.ts';

const hours = (text: string, zone = 'UTC'): QuietHours => {
  const read = readHours(text);
  if (!read) throw new Error(`${text} are no hours.`);
  return { ...read, zone };
};

/** A channel that is quiet from ten to seven, with some monitors that are up, an hour before it is. */
async function openEvening(places?: Parameters<typeof openAlertWorld>[0]['places']) {
  const world = await openAlertWorld({
    startsAt: '2026-06-01T21:00:00Z',
    places,
  });
  await world.set({ quiet: hours('22:00-07:00') });
  await world.see({ m0: 'UP', m1: 'UP', m2: 'UP', m3: 'UP' });
  return world;
}

test('an outage in quiet hours is reported afterwards, in one message, when all outages are over', async () => {
  const world = await openEvening();
  await world.pass(HOUR + MINUTE);
  await world.see({ m0: 'DOWN' });
  await world.pass(30 * MINUTE);
  await world.see({ m0: 'UP', m1: 'DOWN' });
  await world.pass(20 * MINUTE);
  await world.see({ m1: 'UP' });
  // All are over for hours, and it still takes more.
  await world.pass(3 * HOUR);
  await world.see({ m2: 'DOWN', m1: 'DOWN' });
  await world.pass(10 * MINUTE);
  await world.see({ m2: 'UP', m1: 'UP' });
  await world.pass(5 * HOUR - 2 * MINUTE);
  expect(world.slack.messages).toEqual([]);
  await world.pass(2 * MINUTE);
  expect(world.titles()).toEqual(['Quiet hours 22:00–07:00: 3 services were down: all recovered']);
  const card = world.slack.messages[0]?.card;
  expect(card?.tone).toBe('good');
  expect(card && textOf(card)).toContain(
    'Name of m1: was down for 10 minutes, down 2 times\nName of m2: was down for 10 minutes\n',
  );
  await world.pass(HOUR);
  expect(world.slack.tries).toBe(1);
});

test('an outage in quiet hours is reported with those that go on, whose end stands under the message', async () => {
  const world = await openEvening();
  await world.pass(2 * HOUR);
  await world.see({ m0: 'DOWN', m1: 'DOWN', m2: 'DOWN' });
  await world.see({ m1: 'UP', m2: 'UP' });
  await world.pass(8 * HOUR);
  const title = 'Quiet hours 22:00–07:00: 3 services were down';
  expect(world.titles()).toEqual([`${title}: 2 recovered, 1 still down`]);
  // A new outage has its own message.
  await world.see({ m3: 'DOWN' });
  expect(world.titles().slice(1)).toEqual(['Name of m3 is down']);
  await world.see({ m0: 'UP' });
  expect(world.titles()[0]).toBe(`${title}: all recovered`);
  await world.pass(MINUTE);
  expect(world.lines()[0]).toEqual(['3 services recovered after 8 h']);
});

test('an outage in quiet hours changes the message of an outage from before without a line, until it is loud', async () => {
  const world = await openEvening();
  await world.see({ m0: 'DOWN' });
  await world.pass(2 * HOUR);
  await world.see({ m0: 'UP' });
  expect(world.titles()).toEqual([expect.stringMatching(/^Name of m0 recovered after /)]);
  await world.pass(7 * HOUR);
  expect(world.lines()).toEqual([[]]);
  await world.pass(2 * HOUR);
  expect(world.lines()).toEqual([['Name of m0 recovered after 2 h']]);
  expect(world.titles()).toHaveLength(1);
});

test('an outage in quiet hours does not keep other channels waiting', async () => {
  const world = await openEvening([OPS, DEV]);
  await world.pass(2 * HOUR);
  await world.see({ m0: 'DOWN' });
  expect(world.titles(DEV)).toEqual(['Name of m0 is down']);
  expect(world.titles(OPS)).toEqual([]);
  await world.pass(8 * HOUR);
  expect(world.titles(OPS)).toHaveLength(1);
  expect(world.titles(DEV)).toHaveLength(1);
});

test('an outage in quiet hours is reported at the new end when the hours change meanwhile', async () => {
  const world = await openEvening();
  await world.pass(2 * HOUR);
  await world.see({ m0: 'DOWN' });
  await world.set({ quiet: hours('22:00-09:00') });
  await world.pass(9 * HOUR);
  expect(world.titles()).toEqual([]);
  await world.set({ quiet: hours('22:00-08:30') });
  await world.pass(31 * MINUTE);
  expect(world.titles()).toEqual(['Quiet hours 22:00–08:30: Name of m0 is down']);
});

test('an outage in quiet hours waits for the next morning when the program slept over the first', async () => {
  const world = await openEvening();
  await world.pass(2 * HOUR);
  await world.see({ m0: 'DOWN' });
  await world.sleep(20 * MINUTE);
  await world.see({ m1: 'DOWN' });
  // From half past eleven to eleven of the next evening.
  await world.sleep(23.5 * HOUR);
  await world.see({ m0: 'UP' });
  expect(world.titles()).toEqual([]);
  await world.pass(9 * HOUR);
  expect(world.titles()).toEqual([
    'Quiet hours 22:00–07:00: 2 services were down: 1 recovered, 1 still down',
  ]);
});

test('an outage in quiet hours stays in a message that was to be posted as the quiet hours began', async () => {
  const world = await openEvening();
  await world.pass(59 * MINUTE);
  world.slack.failWith(() => new Error('away'));
  await world.see({ m0: 'DOWN' });
  await world.pass(MINUTE);
  world.slack.failWith(undefined);
  await world.pass(8 * HOUR);
  expect(world.titles()).toEqual([]);
  await world.pass(HOUR);
  expect(world.titles()).toEqual(['Name of m0 is down']);
});

test('a night is reported once and whole after its end, whenever the program is killed', async () => {
  const change = fc.record({
    afterMs: fc.integer({ min: 1, max: 150 }).map((minutes) => minutes * MINUTE),
    id: fc.constantFrom('m0', 'm1', 'm2'),
    status: fc.constantFrom('UP', 'DOWN', 'DOWN', 'MAINTENANCE'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 14 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 14 }),
      async (changes, kills) => {
        const world = await openEvening();
        const dawnMs = Date.parse('2026-06-02T07:00:00Z');
        const isQuiet = () => world.nowMs() >= dawnMs - 9 * HOUR && world.nowMs() < dawnMs;
        const loud: string[] = [];
        world.slack.failWith(({ kind, card }) => {
          if (kind !== 'update' && isQuiet()) loud.push(card.title);
          return undefined;
        });
        const outages = new Map<string, number>();
        const down = new Set<string>();
        for (const [at, { afterMs, id, status }] of changes.entries()) {
          await world.pass(afterMs);
          const kill = kills[at];
          if (kill) world.kill(kill);
          if (status === 'DOWN' && !down.has(id) && isQuiet()) {
            outages.set(id, (outages.get(id) ?? 0) + 1);
          }
          if (status === 'DOWN') down.add(id);
          if (status === 'UP') down.delete(id);
          await world.see({ [id]: status });
        }
        await world.pass(Math.max(0, dawnMs - world.nowMs()) + 2 * MINUTE);
        expect(loud).toEqual([]);
        const isDigest = ({ titles }: { titles: string[] }) =>
          titles[0]?.startsWith('Quiet hours') ?? false;
        expect(world.slack.messages.filter(isDigest)).toHaveLength(outages.size > 0 ? 1 : 0);
        for (const id of ['m0', 'm1', 'm2']) {
          const told = messagesOf(world.slack, `Name of ${id}`).filter(isDigest);
          expect(told.map((said) => said.outages)).toEqual(
            outages.has(id) ? [outages.get(id)] : [],
          );
        }
      },
    ),
    { numRuns: long ? 60 : 3 },
  );
});
