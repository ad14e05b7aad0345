import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { EvalCase } from '../cases/case.ts';

/** One try at a case, as it is kept. */
export const TryResult = z.object({
  case: z.string(),
  /** From 1. */
  number: z.int(),
  /** Another one where question or criteria were changed. */
  version: z.string(),
  outcome: z.enum(['passed', 'failed', 'not judged']),
  score: z.number(),
  by: z.string(),
  tookMs: z.number(),
  tokens: z.number(),
  dollars: z.number().optional(),
  answer: z.string(),
  calls: z.array(z.object({ tool: z.string(), input: z.unknown(), result: z.string().optional() })),
  criteria: z.array(
    z.object({
      says: z.string(),
      verdict: z.enum(['yes', 'no', 'not judged']),
      why: z.string().optional(),
      weight: z.number(),
    }),
  ),
});
export type TryResult = z.infer<typeof TryResult>;

const Run = z.object({
  model: z.string(),
  judge: z.string().optional(),
  results: z.array(TryResult),
});

/** Which model is asked, and which one judges. */
export type Asked = Pick<z.infer<typeof Run>, 'model' | 'judge'>;

/** Results that are kept in a file as they come, so that a run that was interrupted goes on where it was. */
export type Results = ReturnType<typeof openResults>;

/** Opens what a file has of an earlier run. Throws where that was of another model or judge. Without a file nothing is kept. */
export function openResults(file: string | undefined, asked: Asked) {
  const results = file !== undefined && existsSync(file) ? read(file, asked) : [];
  return {
    has: (one: EvalCase, number: number) => results.some(isOf(one, number)),
    /** Results of the current version of a case. */
    of: (one: EvalCase): TryResult[] => results.filter((result) => isOfCase(one, result)),
    add(result: TryResult) {
      const { case: id, number } = result;
      // In place of one of an earlier version of the case.
      const place = results.findIndex((other) => other.case === id && other.number === number);
      if (place === -1) results.push(result);
      else results[place] = result;
      if (file === undefined) return;
      // An interrupt leaves the file of before, whole.
      writeFileSync(`${file}.new`, `${JSON.stringify({ ...asked, results }, null, 1)}\n`);
      renameSync(`${file}.new`, file);
    },
  };
}

function read(file: string, asked: Asked): TryResult[] {
  const { model, judge, results } = Run.parse(JSON.parse(readFileSync(file, 'utf8')));
  if (model !== asked.model || judge !== asked.judge) {
    const judged = judge === undefined ? 'nobody' : judge;
    throw new Error(
      `${file} has results of ${model}, judged by ${judged}. Name another file, or those.`,
    );
  }
  return results;
}

const isOfCase = (one: EvalCase, result: TryResult) =>
  result.case === one.id && result.version === versionOf(one);

const isOf = (one: EvalCase, number: number) => (result: TryResult) =>
  isOfCase(one, result) && result.number === number;

/** A hash that changes with the question or its criteria. */
export function versionOf({ question, criteria, proposes = false }: EvalCase): string {
  const told = JSON.stringify([question, proposes, criteria.map(({ says }) => says)]);
  return createHash('sha256').update(told).digest('hex').slice(0, 12);
}
