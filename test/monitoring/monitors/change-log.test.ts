import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ChangeLog,
  createChangeLog,
  MAX_CHANGED,
} from '../../../src/monitoring/monitors/change-log.ts';
import { long } from '../../helpers/long.ts';

const STORE_ID = '0123456789abcdef';
const OVERLAP_MS = 10;

/** Next step: a write, passing time, an action of a process, or a read. */
type Happening =
  | { kind: 'store'; id: number }
  /** The clock is set to be so much behind the time. */
  | { kind: 'time'; ms: number; behindMs: number }
  | { kind: 'learn'; process: number }
  | { kind: 'restart'; process: number }
  /** It begins to answer somebody else, or has heard what the time is. */
  | { kind: 'mark'; process: number }
  /** A state that the store refuses is shown all the same; then it is stored, or taken back. */
  | { kind: 'unstored'; process: number; id: number }
  | { kind: 'settle'; process: number; stored: boolean }
  | { kind: 'ask'; process: number; steps: number };

const processes = fc.integer({ min: 0, max: 2 });
const ids = fc.integer({ min: 0, max: 5 });
const happenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('store' as const), id: ids }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('time' as const),
        ms: fc.integer({ min: 0, max: 20 }),
        behindMs: fc.integer({ min: 0, max: OVERLAP_MS - 1 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('learn' as const), process: processes }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('restart' as const), process: processes }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('mark' as const), process: processes }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('unstored' as const), process: processes, id: ids }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const),
        process: processes,
        stored: fc.boolean(),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('ask' as const),
        process: processes,
        steps: fc.integer({ min: 0, max: 4 }),
      }),
    },
  ),
  { minLength: 20, maxLength: 80 },
);

/** A process that holds in memory what the store has, as far as it has learned of it. */
interface Process {
  log: ChangeLog;
  shown: Map<number, number>;
  unstored: Map<number, number>;
  /** Delivers the time that the process waits for. */
  marking: Array<() => Promise<unknown>>;
}

/** A store, processes on it and a reader, one step at a time. */
async function play(all: readonly Happening[]) {
  let trueMs = 1_000_000;
  let nowMs = trueMs;
  let version = 0;
  const stored = new Map(Array.from({ length: 6 }, (_, id) => [id, 0]));
  const asked: Array<(ms: number) => void> = [];
  const sharedNowMs = () => new Promise<number>((resolve) => asked.push(resolve));
  /** A process reads the clock: the reading and its delivery are two moments. */
  function askTime(log: ChangeLog) {
    const marked = log.mark();
    const answer = asked.pop();
    return () => {
      const ms = nowMs;
      return () => {
        answer?.(ms);
        return marked;
      };
    };
  }

  async function start(): Promise<Process> {
    const log = createChangeLog({ storeId: STORE_ID, sharedNowMs, overlapMs: OVERLAP_MS });
    const shown = new Map(stored);
    await askTime(log)()();
    return { log, shown, unstored: new Map(), marking: [] };
  }

  function learn({ log, shown, unstored }: Process) {
    for (const [id, newest] of stored) {
      if (unstored.has(id) || shown.get(id) === newest) continue;
      shown.set(id, newest);
      log.note(String(id));
    }
  }

  const running = [await start(), await start(), await start()];
  const at = (process: number) => running[process] as Process;
  let held = new Map<number, number>();
  let cursor: string | undefined;
  const answers = { lists: 0, own: 0, foreign: 0 };
  let last: number | undefined;

  async function happen(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case 'store':
        version += 1;
        stored.set(happening.id, version);
        break;
      case 'time':
        trueMs += happening.ms;
        nowMs = trueMs - happening.behindMs;
        break;
      case 'learn':
        learn(at(happening.process));
        break;
      case 'restart':
        running[happening.process] = await start();
        break;
      case 'mark': {
        const { log, marking } = at(happening.process);
        const hear = marking.pop();
        if (hear) await hear();
        else marking.push(askTime(log)());
        break;
      }
      case 'unstored': {
        const { log, shown, unstored } = at(happening.process);
        version += 1;
        unstored.set(happening.id, version);
        shown.set(happening.id, version);
        log.note(String(happening.id));
        log.setUnstored(String(happening.id), true);
        break;
      }
      case 'settle': {
        const { log, shown, unstored } = at(happening.process);
        for (const [id, own] of unstored) {
          if (happening.stored && own > (stored.get(id) ?? 0)) stored.set(id, own);
          if (shown.get(id) !== stored.get(id)) log.note(String(id));
          shown.set(id, stored.get(id) ?? 0);
          log.setUnstored(String(id), false);
        }
        unstored.clear();
        break;
      }
    }
  }

  /** Others go on between any two things that a process does for an answer. */
  async function ask(process: number, others: () => Promise<void>) {
    const { log, shown } = at(process);
    const read = askTime(log);
    await others();
    const hear = read();
    await others();
    const mark = await hear();
    await others();
    learn(at(process));
    const due = new Map(stored);
    const before = new Map(at(process).unstored);
    const changed = cursor === undefined ? undefined : log.since(cursor);
    const number = log.number();
    await others();
    if (changed === undefined) {
      answers.lists += 1;
      held = new Map(shown);
    } else {
      answers[last === process ? 'own' : 'foreign'] += 1;
      for (const id of changed.ids) held.set(Number(id), shown.get(Number(id)) ?? 0);
    }
    cursor = log.cursor(number, mark);
    last = process;
    const { unstored } = at(process);
    const isOther = (id: number) => unstored.get(id) !== before.get(id);
    const wasUnstored = new Set([...unstored.keys(), ...before.keys()].filter(isOther));
    // Versions only grow, but where one that was not stored is taken back.
    for (const [id, newest] of due) {
      const now = held.get(id) ?? 0;
      const wanted = at(process).unstored.get(id) ?? newest;
      expect({ id, wanted, now, isKnown: now >= wanted || wasUnstored.has(id) }).toMatchObject({
        isKnown: true,
      });
    }
  }

  for (let next = 0; next < all.length; next += 1) {
    const happening = all[next] as Happening;
    if (happening.kind !== 'ask') {
      await happen(happening);
      continue;
    }
    let left = happening.steps;
    await ask(happening.process, async () => {
      const between = all[next + 1];
      if (left === 0 || !between || between.kind === 'ask' || between.kind === 'restart') return;
      left -= 1;
      next += 1;
      await happen(between);
    });
  }
  // In the end every process shows only stored states, and tells the reader what it doesn't know.
  for (const process of [0, 1, 2]) await happen({ kind: 'settle', process, stored: false });
  for (const process of [0, 1, 2]) {
    await ask(process, async () => {});
    expect(held).toEqual(stored);
  }
  return answers;
}

test('a reader knows all that is stored after each answer, whichever process it asks', async () => {
  const sum = { lists: 0, own: 0, foreign: 0 };
  await fc.assert(
    fc.asyncProperty(happenings, async (all) => {
      const answers = await play(all);
      for (const kind of ['lists', 'own', 'foreign'] as const) sum[kind] += answers[kind];
    }),
    { numRuns: long ? 20_000 : 1_000 },
  );
  // Few answers have nothing to do with cursors.
  expect(Math.min(sum.own, sum.foreign)).toBeGreaterThan(sum.lists / 10);
});

test('a cursor of another process is taken only from when this one can say what came later', async () => {
  let nowMs = 1_000_000;
  const options = { storeId: STORE_ID, sharedNowMs: async () => nowMs };
  const a = createChangeLog(options);
  const b = createChangeLog(options);
  const at = async (log: ChangeLog) => log.cursor(log.number(), await log.mark());
  await b.mark();
  b.note('before');
  expect(b.since(await at(a))).toBeUndefined();
  nowMs += 29_999;
  expect(b.since(await at(a))).toBeUndefined();
  nowMs += 1;
  const cursor = await at(a);
  b.note('after');
  expect([...(b.since(cursor)?.ids ?? [])]).toEqual(['before', 'after']);
  expect(createChangeLog({ ...options, storeId: 'f'.repeat(16) }).since(cursor)).toBeUndefined();
  expect(createChangeLog({ storeId: STORE_ID }).since(cursor)).toBeUndefined();
});

test('what a process learns while it asks for the time came after that', async () => {
  const answers: Array<(ms: number) => void> = [];
  const sharedNowMs = () => new Promise<number>((resolve) => answers.push(resolve));
  const slow = createChangeLog({ storeId: STORE_ID, sharedNowMs });
  const marked = slow.mark();
  slow.note('meanwhile');
  answers[0]?.(1_000_000);
  await marked;
  const other = createChangeLog({ storeId: STORE_ID, sharedNowMs: async () => 1_060_000 });
  const cursor = other.cursor(0, await other.mark());
  expect([...(slow.since(cursor)?.ids ?? [])]).toEqual(['meanwhile']);
});

test('what is shown while it is not stored makes cursors that are for the same process alone', async () => {
  let nowMs = 1_000_000;
  const options = { storeId: STORE_ID, sharedNowMs: async () => nowMs };
  const a = createChangeLog(options);
  const b = createChangeLog(options);
  const mark = await b.mark();
  nowMs += 60_000;
  const answered = async (during: () => void) => {
    const upTo = a.number();
    const own = await a.mark();
    during();
    return a.cursor(upTo, own);
  };
  const begin = () => a.setUnstored('shop', true);
  const end = () => a.setUnstored('shop', false);
  const ways: Array<[() => void, boolean]> = [
    [() => {}, true],
    [() => [begin(), end()], false],
    [() => {}, true],
    [begin, false],
    [() => {}, false],
    [end, false],
    [() => {}, true],
  ];
  for (const [during, isForOthers] of ways) {
    const cursor = await answered(during);
    expect(a.since(cursor)).toBeDefined();
    expect(b.since(cursor) !== undefined).toBe(isForOthers);
  }
  expect(mark.number).toBe(0);
});

test('more than an answer takes, and what is older than what is kept, is refused', async () => {
  const log = createChangeLog();
  const mark = await log.mark();
  const from = (number: number) => log.since(log.cursor(number, mark));
  for (let at = 0; at < MAX_CHANGED; at += 1) log.note(`mon_${at}`);
  expect(from(0)?.ids.size).toBe(MAX_CHANGED);
  log.note('one more');
  expect(from(0)).toBeUndefined();
  expect(from(1)?.ids.size).toBe(MAX_CHANGED);
  for (let at = 0; at < 300_000; at += 1) log.note('the same');
  expect(from(1)).toBeUndefined();
  const now = log.number();
  expect([...(from(now - 100_000)?.ids ?? [])]).toEqual(['the same']);
  expect(from(now)?.ids.size).toBe(0);
  expect(from(now + 1)).toBeUndefined();
});
