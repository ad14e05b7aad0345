import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGatewayClient } from '../src/clients/gateway.ts';
import type { EvalsRequest } from './arguments.ts';
import type { EvalCase } from './cases/case.ts';
import { missingIn } from './cases/cases.ts';
import { createJudge } from './run/judge.ts';
import type { Used } from './run/recorded-gateway.ts';
import { reportLines, reportOf } from './run/report.ts';
import { openResults } from './run/results.ts';
import { type NotRun, runCases } from './run/run-cases.ts';
import { startGateway } from './world/models.ts';
import type { Weeks } from './world/week.ts';

/** Runs cases, prints how that went, and resolves to why the run as a whole is worth nothing: no sentences when it is not. */
export async function evaluate(
  cases: readonly EvalCase[],
  request: EvalsRequest,
  {
    weeks,
    folder,
    print,
    env = process.env,
    signal,
  }: {
    weeks: Weeks;
    /** For a gateway; the caller's to remove. */
    folder: string;
    print: (line: string) => void;
    env?: NodeJS.ProcessEnv;
    signal?: AbortSignal;
  },
): Promise<string[]> {
  const { model, judge: judgeModel, tries, tags, only, out } = request;
  const missing = missingIn(cases);
  const chosen = cases.filter(
    ({ id, tags: own }) =>
      (tags.length === 0 || own.some((tag) => tags.includes(tag))) &&
      (only === undefined || id === only),
  );
  if (chosen.length === 0) missing.push('There is no such case.');
  const asked = { model, judge: judgeModel };
  const results = openResults(out, asked);
  const own = request.gateway ? undefined : await startGateway(env, join(folder, 'gateway'));
  const models = request.gateway ?? own;
  if (!models) throw new Error('there is no gateway');
  const gateway = createGatewayClient(models);
  let judging: Used = { tokens: 0, dollars: undefined };
  const judge =
    judgeModel === undefined
      ? undefined
      : createJudge({
          gateway,
          model: judgeModel,
          onUsed({ tokens, dollars }) {
            judging = {
              tokens: judging.tokens + tokens,
              dollars: dollars === undefined ? judging.dollars : (judging.dollars ?? 0) + dollars,
            };
          },
        });
  try {
    const notRun = await runCases(chosen, {
      ...{ tries, model, models, weeks, judge, results },
      signal,
      onResult: (result) =>
        print(
          'why' in result
            ? `${result.case}, try ${result.number}: not run. ${result.why}`
            : `${result.case}, try ${result.number}: ${result.outcome}`,
        ),
    });
    const report = reportOf(chosen, { tries, resultsOf: results.of });
    for (const line of ['', ...reportLines(report)]) print(line);
    if (judgeModel !== undefined) {
      const { tokens, dollars } = judging;
      print(
        `\nThe judge used ${tokens} tokens${dollars === undefined ? '' : `, $${dollars.toFixed(4)}`}.`,
      );
    }
    if (out !== undefined) {
      writeFileSync(reportFile(out), `${JSON.stringify({ ...asked, ...report }, null, 1)}\n`);
    }
    return [
      ...missing,
      ...notRunLines(notRun),
      ...(signal?.aborted ? ['It was interrupted.'] : []),
    ];
  } finally {
    await gateway.close();
    await own?.close();
  }
}

/** Beside the results, which are read again. */
export const reportFile = (out: string) => `${out.replace(/\.json$/, '')}.report.json`;

export const notRunLines = (notRun: readonly NotRun[]) =>
  notRun.map(({ case: id, number, why }) => `${id}, try ${number}, could not be run: ${why}`);
