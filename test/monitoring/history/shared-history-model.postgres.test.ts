import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type MonitorHistory, openHistory } from '../../../src/monitoring/history/history.ts';
import { openSharedHistory } from '../../../src/monitoring/history/shared-history.ts';
import { long } from '../../helpers/long.ts';
import { type Check, resultOf, seenIn } from '../../helpers/monitoring/seen-in.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 0, 15, 20, 17, 3, 111);

type Database = Awaited<ReturnType<typeof testDatabase>>;

/** How the open hours get to the other process: as the state does, or not at all. */
const way = fc.constantFrom('handed', 'handed', 'lost');
const process = fc.constantFrom(0, 1);
const check = fc.record({
  what: fc.constant('check' as const),
  as: fc.constantFrom<Check['as']>('up', 'up', 'down', 'unconfirmed', 'covered', 'paused'),
  afterMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 2 * MINUTE }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 * HOUR }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 * DAY }) },
  ),
  tookMs: fc.integer({ min: 0, max: 20_000 }).map((tenths) => tenths / 10),
  by: process,
  /** EntriesOfTime after the next ones. */
  late: fc.boolean(),
  way,
});
const others = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('compare' as const) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('store' as const) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('restart' as const), of: process, way }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('takeover' as const),
      owners: fc.constantFrom([0], [1], [0, 1]),
      way,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('wait' as const),
      afterMs: fc.integer({ min: 0, max: 5 * HOUR }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('many' as const),
      apartMs: fc.integer({ min: 100, max: 40_000 }),
      by: process,
      way,
    }),
  },
  // Both find one moment of the schedule due.
  { weight: 2, arbitrary: fc.record({ what: fc.constant('twice' as const), by: process, way }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('change' as const), by: process }) },
);
const story = fc.record({
  everyMs: fc.constantFrom(10_000, MINUTE, 20 * MINUTE, 6 * HOUR, DAY),
  steps: fc.array(fc.oneof({ weight: 5, arbitrary: check }, { weight: 5, arbitrary: others }), {
    minLength: 1,
    maxLength: 50,
  }),
});

type Story = typeof story extends fc.Arbitrary<infer Value> ? Value : never;
type Way = 'handed' | 'lost';

/** One of the processes that share a history. */
async function startProcess(
  database: Database,
  from: Pick<Parameters<typeof openSharedHistory>[0], 'handed' | 'owns' | 'wallMs'>,
) {
  const open = async () => {
    const store = await database.open();
    const { log } = database;
    return { store, history: openSharedHistory({ store, series: store.series, ...from, log }) };
  };
  let current = await open();
  const stop = async () => {
    await current.history.close();
    await current.store.close();
  };
  return {
    get history(): MonitorHistory {
      return current.history;
    },
    async restart() {
      await stop();
      current = await open();
    },
    stop,
  };
}

/** Runs one story against a history in files and against two processes that share one. */
async function tell(database: Database, monitor: string, { everyMs, steps }: Story) {
  const { log, lines } = recordingLog();
  let nowMs = START;
  let owners: readonly number[] = [0];
  const wallMs = () => nowMs;
  const store = await openTestStore({ log });
  const files = await openHistory({ store, wallMs, log });
  /** The last process's open hours, as stored with the state. */
  let openHours: unknown = null;
  let handedOver: unknown;
  const texts = () => new Map([[monitor, handedOver]]);
  const handed = {
    of: async () => texts(),
    async *all() {
      yield texts();
    },
  };
  const both = [
    await startProcess(database, { handed, owns: () => owners.includes(0), wallMs }),
    await startProcess(database, { handed, owns: () => owners.includes(1), wallMs }),
  ] as const;
  const checks: Check[] = [];
  let writes: Promise<void>[] = [];
  let late: Array<() => void> = [];
  let change = 0;

  function addTo(history: MonitorHistory, each: Check, slotMs?: number): Promise<void> {
    if (each.as === 'paused') return history.cover(monitor, each.atMs);
    const { found, ...checked } = resultOf(each);
    const reason = `no answer, "${each.tookMs}"`;
    const result = { ...checked.result, ...(!checked.result.ok && { reason }) };
    const covered = each.as === 'covered';
    return history.add(monitor, each.atMs, result, { found, everyMs, covered, slotMs });
  }

  function addShared(each: Check, by: 0 | 1, how: Way) {
    writes.push(addTo(both[by].history, each));
    openHours = JSON.parse(JSON.stringify(both[by].history.openHours(monitor)));
    hand(by === 0 ? 1 : 0, how);
  }

  function hand(to: 0 | 1, how: Way) {
    handedOver = how === 'handed' ? openHours : undefined;
    both[to].history.takeOpenHours(monitor, handedOver);
  }

  function add(each: Check, { by, way: how, isLate }: { by: 0 | 1; way: Way; isLate: boolean }) {
    nowMs = each.atMs;
    checks.push(each);
    writes.push(addTo(files, each));
    if (isLate) {
      late.push(() => addShared(each, by, how));
      return;
    }
    addShared(each, by, how);
    if (late.length > 2) tellLate();
  }

  function tellLate() {
    for (const each of late) each();
    late = [];
  }

  async function settle() {
    tellLate();
    await Promise.all(writes);
    writes = [];
  }

  async function compare() {
    await settle();
    const range = { fromMs: START - DAY, toMs: nowMs + DAY };
    const hours = (ms: number) => Math.floor(ms / HOUR) * HOUR;
    const parts = [
      range,
      { fromMs: hours(nowMs - 30 * HOUR), toMs: hours(nowMs) },
      { fromMs: hours((START + nowMs) / 2), toMs: range.toMs },
    ];
    const questions = (history: MonitorHistory) => [
      history.results(monitor, 20),
      ...(['minute', 'hour', 'day'] as const).map((by) =>
        history.rollups(monitor, { by, ...range }),
      ),
      history.days(monitor, { count: 90, nowMs }),
      ...parts.map((part) => history.uptime(monitor, part)),
      history.incidents(monitor, 20),
      ...parts.map((part) => history.incidentsDuring(monitor, part)),
    ];
    const wanted = await Promise.all(questions(files));
    for (const { history } of both) {
      expect(await Promise.all(questions(history))).toEqual(wanted);
      // The last day, to the millisecond.
      for (const backMs of [23 * HOUR + 7, 97 * MINUTE, 23 * MINUTE]) {
        const cut = { fromMs: nowMs - backMs, toMs: nowMs - 11 * MINUTE - 5 };
        expect(await history.uptime(monitor, cut)).toMatchObject(
          seenIn(checks, everyMs, cut.fromMs, cut.toMs),
        );
      }
    }
  }

  for (const step of steps) {
    if (step.what === 'wait') nowMs += step.afterMs;
    if (step.what === 'check') {
      const { by, way: how, as, tookMs } = step;
      const each = { as, tookMs, atMs: nowMs + step.afterMs };
      add(each, { by: by as 0 | 1, way: how as Way, isLate: step.late });
    }
    if (step.what === 'many') {
      for (let index = 0; index < 150; index += 1) {
        const as = index % 7 === 0 ? 'down' : 'up';
        const each = { as, tookMs: index, atMs: nowMs + step.apartMs } as const;
        add(each, { by: step.by as 0 | 1, way: step.way as Way, isLate: false });
      }
    }
    if (step.what === 'twice') {
      await settle();
      const slotMs = nowMs + 1_000;
      const first: Check = { as: 'up', tookMs: 1, atMs: slotMs + 400 };
      const second: Check = { as: 'down', tookMs: 2, atMs: slotMs + 700 };
      checks.push(first);
      nowMs = second.atMs;
      const by = step.by as 0 | 1;
      const other = by === 0 ? 1 : 0;
      await Promise.all([addTo(files, first), addTo(both[by].history, first, slotMs)]);
      openHours = both[by].history.openHours(monitor);
      // It doesn't know the other process's result yet, so its state is refused and its result isn't stored.
      await addTo(both[other].history, second, slotMs);
      hand(other, step.way as Way);
    }
    if (step.what === 'change') {
      change += 1;
      const [from, to] = change % 2 ? (['UP', 'DOWN'] as const) : (['DOWN', 'UP'] as const);
      const news = [{ atMs: nowMs, sinceMs: nowMs, from, to, number: change }];
      await files.addChanges(monitor, news);
      await both[step.by as 0 | 1].history.addChanges(monitor, news);
    }
    if (step.what === 'takeover') {
      await settle();
      owners = step.owners;
      handedOver = step.way === 'handed' ? openHours : undefined;
      for (const [no, { history }] of both.entries()) {
        if (owners.includes(no)) await history.takeOver([monitor]);
        else history.leave(monitor);
      }
    }
    if (step.what === 'restart') {
      await settle();
      await both[step.of as 0 | 1].restart();
      handedOver = step.way === 'handed' ? openHours : undefined;
      await both[step.of as 0 | 1].history.takeOver([monitor]);
    }
    if (step.what === 'store') {
      await settle();
      await Promise.all([files, both[0].history, both[1].history].map((each) => each.prune(nowMs)));
    }
    if (step.what === 'compare') await compare();
  }
  await compare();

  await Promise.all(both.map(({ history }) => history.forget(monitor)));
  // It goes with the state.
  handedOver = undefined;
  await both[0].restart();
  for (const { history } of both) {
    expect(await history.results(monitor, 100)).toEqual([]);
    expect(await history.incidents(monitor, 100)).toEqual([]);
    const everything = { fromMs: 0, toMs: nowMs + DAY };
    expect(await history.rollups(monitor, { by: 'day', ...everything })).toEqual([]);
    expect(await history.uptime(monitor, everything)).toMatchObject({ upMs: 0, downMs: 0 });
  }
  await Promise.all(both.map(({ stop }) => stop()));
  await files.close();
  await store.close();
  for (const each of [lines, database.lines]) {
    expect(each.filter(({ level }) => Number(level) > 30)).toEqual([]);
  }
}

const soon = { what: 'check', as: 'up', afterMs: 30_000, tookMs: 5, late: false } as const;
const compare = { what: 'compare' } as const;
const store = { what: 'store' } as const;

/** The days that one process remembers are older than the hours that the other one has stored since. */
const remembered: Story['steps'] = [
  { ...soon, by: 0, way: 'handed' },
  compare,
  { what: 'wait', afterMs: 119 * MINUTE },
  store,
  { ...soon, by: 0, way: 'handed' },
  compare,
];
/** After a long stop, rows are dropped before their hours were stored: what was handed over still knows them. */
const longStop: Story['steps'] = [
  { ...soon, by: 0, way: 'handed' },
  { ...soon, by: 0, way: 'handed' },
  { what: 'wait', afterMs: 5 * DAY },
  { what: 'restart', of: 0, way: 'handed' },
  store,
  { ...soon, by: 0, way: 'handed' },
  compare,
];

/** A time begins with a check that was long before it. */
const seldom: Story['steps'] = [
  { ...soon, by: 0, way: 'handed' },
  { what: 'wait', afterMs: 90 * MINUTE },
  { ...soon, as: 'down', by: 1, way: 'handed' },
  { what: 'wait', afterMs: 50 * MINUTE },
  compare,
];

/** Hours without a check of their own are stored, and the time after them begins with a check that was stored before. */
const storedBefore: Story['steps'] = [
  { ...soon, by: 0, way: 'handed' },
  { what: 'wait', afterMs: 119 * MINUTE },
  store,
  { what: 'wait', afterMs: HOUR },
  store,
  { what: 'restart', of: 0, way: 'lost' },
  { ...soon, by: 1, way: 'lost' },
];

describe.skipIf(!hasPostgres)('a history that two processes share', () => {
  test('gives the answers of one in files, whoever adds, stores, restarts and takes over', async () => {
    const database = await testDatabase();
    let stories = 0;
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        stories += 1;
        await tell(database, `m${stories}`, told);
      }),
      {
        numRuns: long ? 150 : 10,
        endOnFailure: true,
        examples: [
          ...[remembered, longStop].map((steps): [Story] => [{ everyMs: MINUTE, steps }]),
          [{ everyMs: 6 * HOUR, steps: seldom }],
          [{ everyMs: DAY, steps: storedBefore }],
        ],
      },
    );
  });
});
