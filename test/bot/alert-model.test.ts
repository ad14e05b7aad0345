import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/bot/clock.ts';
import { DeliveryError } from '../../src/bot/errors.ts';
import { isTold } from '../../src/bot/incidents.ts';
import { createSender } from '../../src/bot/sender.ts';
import { look } from '../../src/bot/watch.ts';
import { openWatchState } from '../../src/bot/watch-store.ts';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { eventually } from '../support/eventually.ts';
import { recordingLog } from '../support/recording-log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createLife } from './killable-life.ts';
import { createScriptedPlatform, type ScriptedPlatform } from './scripted-platform.ts';
import { saidOf } from './told-of-monitors.ts';

const long = process.env.ASKWATCH_TEST_LONG === '1';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
/** The second place hears of every other monitor. */
const heardBy = (platform: { name: string }) =>
  NAMES.filter((_, at) => platform.name === 'slack' || at % 2 === 0);
const placesFor = ({ name }: { name: string }) =>
  heardBy({ name: 'discord' }).includes(name) ? ['slack:C1', 'discord:D1'] : ['slack:C1'];

/** A third outage within a quarter of an hour would be flapping, which is told in another way. */
const CALM_MS = 16 * 60_000;

/** What is true of a monitor, by the plainest of books. */
interface Truth {
  status: string;
  /** Outages that a look has seen so far. */
  outages: number;
  isOpen: boolean;
  /** When it went down, each time. */
  downsMs: number[];
}

function createBook() {
  const book = new Map(
    NAMES.map((name): [string, Truth] => [
      name,
      { status: 'UP', outages: 0, isOpen: false, downsMs: [] },
    ]),
  );
  return {
    of: (name: string) => book.get(name) as Truth,
    /** Lets a monitor have a status, unless it would flap. */
    set(name: string, status: string, nowMs: number) {
      const truth = book.get(name) as Truth;
      const recent = truth.downsMs.filter((atMs) => nowMs - atMs < CALM_MS);
      if (status === truth.status || (status === 'DOWN' && recent.length >= 2)) return;
      truth.status = status;
      if (status === 'DOWN') truth.downsMs.push(nowMs);
      if (status === 'DOWN' && !truth.isOpen) {
        truth.outages += 1;
        truth.isOpen = true;
      }
      if (status === 'UP') truth.isOpen = false;
    },
    monitors: () =>
      [...book].map(
        ([name, { status, outages }]): Monitor => ({
          ...{ id: name, name, check_type: 'HTTP', target: `https://${name}.example`, status },
          ...(status === 'DOWN' && { status_reason: `outage ${outages}` }),
          interval_seconds: 60,
        }),
      ),
  };
}

type Book = ReturnType<typeof createBook>;

/** What is wrong with a place after one of its messages was written, if anything is. */
function wrongAfter(platform: ScriptedPlatform, writtenId: string, book: Book): string[] {
  return heardBy(platform).flatMap((name) => {
    const said = saidOf(platform, name);
    const told = said.reduce((sum, { outages }) => sum + outages, 0);
    const written = said.find(({ id }) => id === writtenId);
    if (!written) return [];
    const { card, titles, isDown } = written;
    const [, number] = /outage (\d+)/.exec(JSON.stringify(factsOf(written, name))) ?? [];
    return [
      ...(told > book.of(name).outages ? [`${name} is told ${told} times, before it was so`] : []),
      // Whoever hears that an outage goes on has heard of all before it.
      ...(isDown && Number(number) !== told ? [`${name}: outage ${number} after ${told}`] : []),
      ...(/ recovered/.test(card.title) && !titles.some((title) => / (is|are) /.test(title))
        ? [`${card.title}, which nobody was told to be down`]
        : []),
    ];
  });
}

function factsOf(
  { card, line }: { card: ScriptedPlatform['messages'][number]['card']; line: string },
  name: string,
) {
  const facts = card.parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
  return facts.some(({ label }) => label === name) ? line : facts;
}

/** Everything from the look to two platforms, over a document that outlives each life. */
async function openWorld(book: Book) {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  const durable = await openWatchState(store, log);
  const platforms = [createScriptedPlatform('slack'), createScriptedPlatform('discord')];
  const wrong: string[] = [];
  let nowMs = 1_800_000_000_000;
  let made = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    async pause(ms, signal) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!signal.aborted) nowMs += ms;
    },
  };

  /** The platform as one life calls it; what it shows is looked at whenever a message was written. */
  function through(platform: ScriptedPlatform, life: ReturnType<typeof createLife>) {
    const written = async <T>(id: string, write: () => Promise<T>) => {
      try {
        return await write();
      } finally {
        wrong.push(...wrongAfter(platform, id, book));
      }
    };
    const called: ScriptedPlatform = {
      ...platform,
      post: (post) => life.step(() => written(post.id, () => platform.post(post))),
      update: (channel, posted, card) =>
        life.step(() => written(posted.message, () => platform.update(channel, posted, card))),
      announce: (line) => life.step(() => platform.announce(line)),
    };
    return called;
  }

  return {
    platforms,
    wrong,
    store,
    pass: (ms: number) => (nowMs += ms),
    now: () => nowMs,
    isSettled: () =>
      (durable.current()?.topics ?? []).every((topic) =>
        topic.deliveries.every((delivery) => isTold(topic, delivery)),
      ),
    /** Starts the program anew over what is stored; it dies at the await of this number. */
    live(killAt = 0) {
      const life = createLife(killAt);
      const update: typeof durable.update = (change) => life.step(() => durable.update(change));
      const sender = createSender({
        ...{ state: { current: durable.current, update }, alertPlaces: [] },
        ...{ clock, random: () => 0.5, log },
      });
      sender.start(platforms.map((platform) => through(platform, life)));
      return {
        life,
        sender,
        async look() {
          const newId = () => `${++made}`.padStart(8, '0');
          const seen = update(
            (watching) => look(watching, book.monitors(), { nowMs, newId, placesFor }).watching,
          );
          await Promise.race([seen, life.over]);
          sender.wake();
        },
      };
    },
  };
}

/** Lets the sender work a little. */
async function turns(count: number) {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Each platform refuses some calls and loses the answers of others, in this order. */
function trouble(platform: ScriptedPlatform, faults: readonly string[]) {
  const left = [...faults];
  let fault = '';
  platform.failWith(() => {
    fault = left.shift() ?? '';
    return fault === 'refused'
      ? new DeliveryError('away', { permanent: false, retryAfterMs: 3000 })
      : undefined;
  });
  platform.loseAnswers(() => (fault === 'lost' ? new Error('no answer') : undefined));
}

const step = fc.record({
  afterMs: fc.constantFrom(5_000, 5_000, 20_000, 70_000, 240_000, 400_000, 1_000_000),
  changes: fc.array(
    fc.tuple(fc.nat(NAMES.length - 1), fc.constantFrom('UP', 'UP', 'DOWN', 'DOWN', 'DEGRADED')),
    { maxLength: 8 },
  ),
  work: fc.nat(30),
});
const fault = fc.constantFrom('', '', '', 'refused', 'lost');
const history = fc.record({
  steps: fc.array(step, { minLength: 3, maxLength: 14 }),
  kills: fc.array(fc.integer({ min: 1, max: 16 }), { maxLength: 8 }),
  faults: fc.tuple(fc.array(fault, { maxLength: 40 }), fc.array(fault, { maxLength: 40 })),
});

async function play({
  steps,
  kills,
  faults,
}: typeof history extends fc.Arbitrary<infer T> ? T : never) {
  const book = createBook();
  const world = await openWorld(book);
  for (const [at, platform] of world.platforms.entries()) trouble(platform, faults[at] ?? []);
  const left = [...kills];
  let program = world.live();
  await program.look();
  for (const { afterMs, changes, work } of steps) {
    world.pass(afterMs);
    for (const [at, status] of new Map(changes)) book.set(NAMES[at] ?? '', status, world.now());
    for (;;) {
      await program.look();
      await turns(work);
      if (!program.life.dead) break;
      program = world.live(left.shift());
    }
    // As if by a kill while nothing was under way, too.
    if (left.length > 0 && work % 3 === 0) {
      program.life.kill();
      program = world.live(left.shift());
    }
  }
  program.life.kill();
  for (const platform of world.platforms) trouble(platform, []);
  program = world.live();
  await eventually(world.isSettled, { withinMs: 20_000 });
  await program.sender.stop();
  await world.store.close();
  return { book, ...world };
}

test('channels hear every outage that a look saw, once and in order, whatever fails and whenever it restarts', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (given) => {
      const { book, platforms, wrong } = await play(given);
      expect(wrong).toEqual([]);
      for (const platform of platforms) {
        const told = heardBy(platform).map((name) => {
          const said = saidOf(platform, name);
          const outages = said.reduce((sum, one) => sum + one.outages, 0);
          return { name, outages, down: said.filter(({ isDown }) => isDown).length };
        });
        const truth = heardBy(platform).map((name) => {
          const { outages, status, isOpen } = book.of(name);
          return { name, outages, down: isOpen && status === 'DOWN' ? 1 : 0 };
        });
        expect(told).toEqual(truth);
        const footers = platform.messages.map(({ card }) => card.footer);
        expect(new Set(footers).size).toBe(footers.length);
      }
    }),
    { numRuns: long ? 500 : 12 },
  );
}, 600_000);
