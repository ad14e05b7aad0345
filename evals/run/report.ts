import type { EvalCase } from '../cases/case.ts';
import type { TryResult } from './results.ts';

/** How cases of a kind went. */
export interface Row {
  tag: string;
  cases: number;
  /** Cases that passed in every try, and in at least one. */
  passAll: number;
  passAny: number;
  /** Cases without a failed try but with an unjudged one. */
  notJudged: number;
  /** Mean score over all tries, 0 to 1; undefined without tries. */
  score: number | undefined;
  tokens: number;
  dollars: number | undefined;
  p50Ms: number | undefined;
  p95Ms: number | undefined;
}

/** How a run went: of all cases, and by tag. */
export interface Report {
  tries: number;
  rows: Row[];
  /** Failed criteria of each case that didn't pass every time. */
  failures: Array<{ case: string; number: number; criteria: Array<{ says: string; why: string }> }>;
}

/** Sums up a run. A case with fewer tries than are wanted has not passed all of them. Pure. */
export function reportOf(
  cases: readonly EvalCase[],
  { tries, resultsOf }: { tries: number; resultsOf: (one: EvalCase) => readonly TryResult[] },
): Report {
  const run = cases.map((one) => ({
    one,
    results: resultsOf(one).filter(({ number }) => number <= tries),
  }));
  const tags = [...new Set(cases.flatMap(({ tags: own }) => own))];
  const rows = ['all', ...tags].map((tag) => {
    const own = run.filter(({ one }) => tag === 'all' || one.tags.includes(tag));
    return rowOf(
      tag,
      own.map(({ results }) => results),
      tries,
    );
  });
  const failures = run.flatMap(({ one, results }) =>
    results
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ number, criteria }) => ({
        case: one.id,
        number,
        criteria: criteria.flatMap(({ says, verdict, why = '' }) =>
          verdict === 'no' ? [{ says, why }] : [],
        ),
      })),
  );
  return { tries, rows, failures };
}

function rowOf(tag: string, cases: ReadonlyArray<readonly TryResult[]>, tries: number): Row {
  const all = cases.flat();
  const are = (wanted: TryResult['outcome']) => (results: readonly TryResult[]) =>
    results.length === tries && results.every(({ outcome }) => outcome === wanted);
  const count = (isOne: (results: readonly TryResult[]) => boolean) => cases.filter(isOne).length;
  const dollars = all.flatMap(({ dollars: own }) => (own === undefined ? [] : [own]));
  const times = all.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return {
    tag,
    cases: cases.length,
    passAll: count(are('passed')),
    passAny: count((results) => results.some(({ outcome }) => outcome === 'passed')),
    notJudged: count(
      (results) =>
        results.some(({ outcome }) => outcome === 'not judged') &&
        results.every(({ outcome }) => outcome !== 'failed'),
    ),
    score: all.length === 0 ? undefined : sum(all.map(({ score }) => score)) / all.length,
    tokens: sum(all.map(({ tokens }) => tokens)),
    dollars: dollars.length === 0 ? undefined : sum(dollars),
    p50Ms: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

/** The nearest rank. */
export const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];

/** A report as lines for people: a table, then what was wrong. Pure. */
export function reportLines({ tries, rows, failures }: Report): string[] {
  const head = [
    'tag',
    'cases',
    `pass^${tries}`,
    `pass@${tries}`,
    'not judged',
    'score',
    'tokens',
    'dollars',
    'p50',
    'p95',
  ];
  const cells = rows.map((row) => [
    row.tag,
    `${row.cases}`,
    `${row.passAll}`,
    `${row.passAny}`,
    `${row.notJudged}`,
    row.score === undefined ? '' : row.score.toFixed(2),
    `${row.tokens}`,
    row.dollars === undefined ? '' : row.dollars.toFixed(4),
    ...[row.p50Ms, row.p95Ms].map(inSeconds),
  ]);
  return [
    ...tableLines(head, cells),
    ...(failures.length > 0 ? [''] : []),
    ...failures.flatMap(({ case: id, number, criteria }) => [
      `${id}, try ${number}:`,
      ...criteria.map(({ says, why }) => `  ✖ ${says} ${why}`),
    ]),
  ];
}

export const inSeconds = (ms: number | undefined) =>
  ms === undefined ? '' : `${(ms / 1000).toFixed(1)} s`;

/** Rows with aligned columns; the first one to the left. Pure. */
export function tableLines(head: readonly string[], cells: ReadonlyArray<readonly string[]>) {
  const widths = head.map((name, at) =>
    Math.max(name.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, ...cells].map(line);
}
