import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../test/fakes/model-provider.ts';
import { temporaryFolder } from '../test/helpers/temporary-folder.ts';
import type { EvalCase } from './cases/case.ts';
import { mentions } from './criteria/criteria.ts';
import { evaluate } from './evaluate.ts';
import { openWeeks, type Weeks } from './world/week.ts';

let weeks: Weeks;
const ends: Array<() => Promise<void>> = [];

beforeAll(async () => {
  weeks = openWeeks(await temporaryFolder((end) => ends.push(end)));
  ends.push(weeks.close);
});

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const CASES: EvalCase[] = ['one', 'two', 'three'].map((id) => ({
  id,
  question: `say ${id}`,
  tags: ['status'],
  criteria: [mentions(id)],
}));

/** Runs these cases over a provider that says what it is asked to, but for `three`. */
async function start() {
  const provider = await startModelProvider({ models: ['test-model'] });
  onTestFinished(() => provider.close());
  provider.answerWith(({ messages }) => messages.at(-1).content.replace('say three', 'four'));
  const out = join(await temporaryFolder(), 'out.json');
  return {
    provider,
    out,
    report: () => JSON.parse(readFileSync(out.replace('.json', '.report.json'), 'utf8')),
    async run({ onLine = (_: string) => {}, signal, ...more }: Options = {}) {
      const lines: string[] = [];
      const problems = await evaluate(
        more.cases ?? CASES,
        {
          model: 'test-model',
          gateway: { baseUrl: provider.url, apiKey: provider.apiKey },
          ...{ tries: 2, tags: [], incidents: false, out, ...more.request },
        },
        {
          ...{ weeks, folder: await temporaryFolder() },
          print(line) {
            lines.push(line);
            onLine(line);
          },
          signal,
        },
      );
      return { lines, problems };
    },
  };
}

interface Options {
  cases?: EvalCase[];
  request?: { judge?: string; model?: string };
  onLine?: (line: string) => void;
  signal?: AbortSignal;
}

test('a run that was interrupted goes on where it was, and ends with a report of all', async () => {
  const { provider, run, report } = await start();
  const interrupt = new AbortController();
  const onLine = (line: string) => line.startsWith('two, try 1') && interrupt.abort();
  const first = await run({ onLine, signal: interrupt.signal });
  expect(first.problems).toContain('It was interrupted.');
  expect(provider.calls).toHaveLength(2);
  const second = await run();
  expect(provider.calls).toHaveLength(6);
  expect(second.lines).not.toContain('one, try 1: passed');
  expect(report()).toMatchObject({
    model: 'test-model',
    tries: 2,
    rows: [
      { tag: 'all', cases: 3, passAll: 2, passAny: 2, notJudged: 0, score: 2 / 3 },
      { tag: 'status', cases: 3 },
    ],
    failures: [
      { case: 'three', number: 1, criteria: [{ says: 'The answer has “three”.' }] },
      { case: 'three', number: 2 },
    ],
  });
  expect(report().rows[0].p50Ms).toBeGreaterThan(0);
  expect(report().rows[0]).not.toHaveProperty('dollars');
  await run();
  expect(provider.calls).toHaveLength(6);
});

test('a case with a changed question or criteria is asked again', async () => {
  const { provider, run } = await start();
  await run();
  const cases = CASES.map((one) => (one.id === 'one' ? { ...one, question: 'say one!' } : one));
  await run({ cases });
  expect(provider.calls).toHaveLength(8);
});

test('results of another model are not mixed in', async () => {
  const { run, out } = await start();
  await run();
  await expect(run({ request: { judge: 'test-judge' } })).rejects.toThrow(
    `${out} has results of test-model, judged by nobody.`,
  );
});

test('a run with too few cases, or with an unasked one, is reported as worthless', async () => {
  const { provider, run, report } = await start();
  provider.failWith({ kind: 'status', status: 500 }, 1);
  const { problems } = await run();
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^There are 3 cases of \d+ \(all\)\.$/),
      expect.stringMatching(/^one, try 1, could not be run: /),
    ]),
  );
  // A question that wasn't sent hasn't passed; the next run sends it.
  expect(report().rows[0]).toMatchObject({ passAll: 1, passAny: 2 });
  expect((await run()).problems).not.toContainEqual(expect.stringContaining('could not be run'));
  expect(report().rows[0]).toMatchObject({ passAll: 2, passAny: 2 });
});

test('a gateway that never answers leaves no file', async () => {
  const { provider, run, out } = await start();
  provider.failWith({ kind: 'status', status: 500 });
  const { problems } = await run();
  expect(problems.filter((line) => line.includes('could not be run'))).toHaveLength(6);
  expect(existsSync(out)).toBe(false);
});
