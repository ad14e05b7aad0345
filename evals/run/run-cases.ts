import type { EvalCase } from '../cases/case.ts';
import type { Models } from '../world/models.ts';
import type { Weeks } from '../world/week.ts';
import { askCase, NotAskedError } from './ask.ts';
import { grade, outcomeOf, scoreOf } from './grade.ts';
import type { Judge } from './judge.ts';
import { type Results, type TryResult, versionOf } from './results.ts';

/** A try that could not be made, and why. */
export interface NotRun {
  case: string;
  number: number;
  why: string;
}

interface RunTriesOptions<Case, Result> {
  tries: number;
  results: Results<Case, Result>;
  onResult?: (result: Result | NotRun) => void;
  signal?: AbortSignal;
}

/** Asks every case as often as is wanted, but for what was done before, and grades what comes. */
export const runCases = (
  cases: readonly EvalCase[],
  options: RunTriesOptions<EvalCase, TryResult> & {
    model: string;
    models: Models;
    weeks: Weeks;
    judge?: Judge;
  },
): Promise<NotRun[]> =>
  runTries(cases, { ...options, tryCase: (one, number) => tryCase(one, number, options) });

/** Tries every case several times. Tries with a result are not repeated. */
export async function runTries<Case extends { id: string }, Result>(
  cases: readonly Case[],
  options: RunTriesOptions<Case, Result> & {
    tryCase(one: Case, number: number): Promise<Result>;
  },
): Promise<NotRun[]> {
  const { tries, results, tryCase, onResult, signal } = options;
  const notRun: NotRun[] = [];
  // One round after the other: an early end leaves some tries of each case, and not all of some.
  for (let number = 1; number <= tries; number += 1) {
    for (const one of cases) {
      if (signal?.aborted) return notRun;
      if (results.has(one, number)) continue;
      try {
        const result = await tryCase(one, number);
        results.add(result);
        onResult?.(result);
      } catch (error) {
        const failed = { case: one.id, number, why: (error as Error).message };
        notRun.push(failed);
        onResult?.(failed);
      }
    }
  }
  return notRun;
}

async function tryCase(
  one: EvalCase,
  number: number,
  { model, models, weeks, judge }: Parameters<typeof runCases>[1],
): Promise<TryResult> {
  const week = await weeks.fresh();
  const evidence = await askCase(one, { model, models, week });
  // A text cut off by a gateway fault isn't the model's answer.
  if (evidence.note?.includes('model gateway')) throw new NotAskedError(evidence.note);
  const criteria = await grade(one, evidence, judge);
  const { used, calls, tookMs, text, by } = evidence;
  return {
    case: one.id,
    number,
    version: versionOf(one),
    outcome: outcomeOf(criteria),
    score: scoreOf(criteria),
    by,
    tookMs: Math.round(tookMs),
    tokens: used.tokens,
    dollars: used.dollars,
    answer: text,
    calls: calls.map(({ tool, input, result }) => ({
      tool,
      input,
      result,
    })),
    criteria,
  };
}
