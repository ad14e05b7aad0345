import { expect, test } from 'vitest';
import { readArguments } from './arguments.ts';
import { draftsOf } from './run/drafts.ts';
import { outcomeOf, scoreOf } from './run/grade.ts';
import { rulingsIn } from './run/judge.ts';
import { usedIn } from './run/recorded-gateway.ts';
import { reportLines, reportOf } from './run/report.ts';
import type { TryResult } from './run/results.ts';

const yes = { says: 'a', verdict: 'yes', weight: 1 } as const;
const no = { says: 'b', verdict: 'no', weight: 3, why: 'It is not.' } as const;
const open = { says: 'c', verdict: 'not judged', weight: 1 } as const;

test('a try passes when every criterion does, and none stands for another', () => {
  expect(outcomeOf([yes, yes])).toBe('passed');
  expect(outcomeOf([yes, open])).toBe('not judged');
  expect(outcomeOf([yes, open, no])).toBe('failed');
  expect(scoreOf([yes, no])).toBe(0.25);
});

test('rulings are read however they are written, and what is unclear is NO', () => {
  const text = '**1:** YES — it does.\n2. no: it names Bob\n- 3: YES\n5: maybe';
  expect(rulingsIn(text, 5)).toEqual([
    { verdict: 'yes', why: 'it does.' },
    { verdict: 'no', why: 'it names Bob' },
    { verdict: 'yes', why: '' },
    { verdict: 'no', why: 'The judge said nothing clear of it.' },
    { verdict: 'no', why: 'The judge said nothing clear of it.' },
  ]);
  expect(rulingsIn('11: YES - of another', 1)[0]?.verdict).toBe('no');
});

test('dollars are reported if the gateway reports them', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  expect(usedIn([usage, usage])).toEqual({ tokens: 8, dollars: undefined });
  expect(
    usedIn([
      { ...usage, cost: 0.25 },
      { ...usage, cost: 0.5 },
    ]),
  ).toEqual({
    tokens: 8,
    dollars: 0.75,
  });
});

const CASES = [
  { id: 'one', question: '?', tags: ['status'], criteria: [] },
  { id: 'two', question: '?', tags: ['status', 'german'], criteria: [] },
];

function tried(id: string, number: number, criteria: TryResult['criteria'], tookMs = 1_000) {
  const about = { version: '', by: 'm', tokens: 10, answer: '', calls: [] };
  const outcome = outcomeOf(criteria);
  return { case: id, number, outcome, score: scoreOf(criteria), criteria, tookMs, ...about };
}

test('a report counts who passed every time, who passed once, and who was not judged', () => {
  const results: TryResult[] = [
    tried('one', 1, [yes], 1_000),
    tried('one', 2, [yes], 2_000),
    tried('two', 1, [yes], 3_000),
    tried('two', 2, [no], 9_000),
  ];
  const resultsOf = ({ id }: { id: string }) => results.filter((one) => one.case === id);
  const report = reportOf(CASES, { tries: 2, resultsOf });
  expect(report.rows).toMatchObject([
    { tag: 'all', cases: 2, passAll: 1, passAny: 2, tokens: 40, p50Ms: 2_000, p95Ms: 9_000 },
    { tag: 'status', cases: 2 },
    { tag: 'german', cases: 1, passAll: 0, passAny: 1, notJudged: 0 },
  ]);
  const lines = reportLines(report);
  expect(lines[0]).toMatch(/^tag +cases +pass\^2 +pass@2 /);
  expect(lines.slice(-2)).toEqual(['two, try 2:', '  ✖ b It is not.']);
  // With a third try, nobody has passed all of them.
  expect(reportOf(CASES, { tries: 3, resultsOf }).rows[0]).toMatchObject({
    passAll: 0,
    passAny: 2,
  });
  results.splice(0, 4, tried('one', 1, [open]));
  expect(reportOf(CASES, { tries: 1, resultsOf }).rows[0]).toMatchObject({
    ...{ passAll: 0, passAny: 0, notJudged: 1 },
  });
});

test('words of the command line are read, and what makes no sense is refused', () => {
  expect(readArguments(['--model', 'm', '--tag', 'writes', '--tag', 'hostile'])).toEqual({
    ...{ model: 'm', tries: 3, tags: ['writes', 'hostile'], incidents: false },
  });
  expect(readArguments(['--incidents', '--model', 'm', '--tag', 'clock'])).toMatchObject({
    ...{ incidents: true, tags: ['clock'] },
  });
  expect(() => readArguments(['--model', 'm', '--tag', 'clock'])).toThrow("no tag 'clock'");
  expect(
    readArguments(['--model', 'm', '--gateway', 'http://localhost', '--key', 'k', '--tries', '1']),
  ).toMatchObject({ gateway: { baseUrl: 'http://localhost', apiKey: 'k' }, tries: 1 });
  expect(readArguments(['--add'])).toBe('add');
  expect(() => readArguments([])).toThrow('A model is missing.');
  expect(() => readArguments(['--model', 'm', '--key', 'k'])).toThrow('go together');
  expect(() => readArguments(['--model', 'm', '--tries', '0'])).toThrow("'0' isn't a number");
  expect(() => readArguments(['--model', 'm', '--tag', 'x'])).toThrow("no tag 'x'");
  expect(() => readArguments(['--modle', 'm'])).toThrow('Usage: npm run evals');
});

test('feedback becomes drafts of cases in comments', () => {
  const lines = [
    { question: 'what is "down"?', answer: 'Nothing.\n*/ x', tools: ['list_monitors'] },
    { question: 'and now?' },
  ].map((line) => JSON.stringify(line));
  const drafts = draftsOf(`${lines.join('\n')}\n\n`);
  expect(drafts).toContain('//   question: "what is \\"down\\"?",');
  expect(drafts).toContain('//   criteria: [looked(tool("list_monitors"))],');
  expect(drafts.split('\n').every((line) => line.startsWith('// '))).toBe(true);
  expect(() => draftsOf('{"question":"a"}\n{}')).toThrow('Line 2 is no feedback');
});

test('of exported feedback those with 👎 become drafts, with what was wrong, and the rest is counted', () => {
  const what = 'no\u2028}]; process.exit(); //\rx\r\ny';
  const lines = [
    { question: 'good?', answer: 'Yes.', tools: [], up: 2, down: 0 },
    {
      ...{
        question: 'bad\u2028?',
        answer: 'Yes.\u2029/* x',
        tools: ['get_monitor', 'get_monitor'],
      },
      ...{ up: 1, down: 2, wrong: [{ reason: 'wrong', what }, { reason: 'too long' }] },
    },
    { private: true, up: 0, down: 1 },
    { private: true, up: 1, down: 0 },
  ].map((line) => JSON.stringify(line));
  const drafts = draftsOf(lines.join('\n'));
  // As JavaScript ends lines.
  const all = drafts.split(/\r\n|[\n\r\u2028\u2029]/);
  expect(all.every((line) => line.startsWith('// '))).toBe(true);
  expect(all.filter((line) => line.includes("id: 'draft-"))).toEqual(["//   id: 'draft-2',"]);
  expect(drafts).toContain('//   // wrong: no\n//   // }]; process.exit(); //\n');
  expect(drafts).toContain('//   // too long\n');
  expect(drafts).toContain('//   criteria: [looked(tool("get_monitor"))],');
  expect(all.at(-1)).toBe('// Left out: 2 without 👎, 1 of which only ratings are kept.');
});
