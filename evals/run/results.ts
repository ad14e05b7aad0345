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

const Run = z.object({ model: z.string(), judge: z.string().optional() });

/** Which model is asked, and which one judges. */
export type Asked = z.infer<typeof Run>;

/** The parts that identify a result. */
type KeptTry = Pick<TryResult, 'case' | 'number' | 'version'>;

/** Results that are kept in a file as they come, so that a run that was interrupted goes on where it was. */
export interface Results<Case = EvalCase, Result = TryResult> {
  has(one: Case, number: number): boolean;
  /** Results of the current version of a case. */
  of(one: Case): Result[];
  add(result: Result): void;
}

/** Opens what a file has of an earlier run. Throws where that was of another model or judge. Without a file nothing is kept. */
export const openResults = (file: string | undefined, asked: Asked): Results =>
  openResultsOf(file, asked, { schema: TryResult, versionOf });

export function openResultsOf<Case extends { id: string }, Result extends KeptTry>(
  file: string | undefined,
  asked: Asked,
  kind: { schema: z.ZodType<Result>; versionOf: (one: Case) => string },
): Results<Case, Result> {
  const results = file !== undefined && existsSync(file) ? read(file, asked, kind.schema) : [];
  const isOf = (one: Case) => (result: Result) =>
    result.case === one.id && result.version === kind.versionOf(one);
  return {
    has: (one, number) => results.some((result) => isOf(one)(result) && result.number === number),
    of: (one) => results.filter(isOf(one)),
    add(result) {
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

function read<Result>(file: string, asked: Asked, schema: z.ZodType<Result>): Result[] {
  const { model, judge, results } = Run.extend({ results: z.array(schema) }).parse(
    JSON.parse(readFileSync(file, 'utf8')),
  );
  if (model !== asked.model || judge !== asked.judge) {
    const judged = judge === undefined ? 'nobody' : judge;
    throw new Error(
      `${file} has results of ${model}, judged by ${judged}. Name another file, or those.`,
    );
  }
  return results;
}

/** A hash that changes with the question or its criteria. */
export function versionOf({ question, criteria, proposes = false }: EvalCase): string {
  return hashOf([question, proposes, criteria.map(({ says }) => says)]);
}

/** Twelve digits that differ if anything in a value does. Pure. */
export const hashOf = (value: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(value, (_, part) => (part instanceof RegExp ? String(part) : part)))
    .digest('hex')
    .slice(0, 12);
