import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { createGatewayClient } from '../../src/clients/gateway.ts';
import type { EvalsRequest } from '../arguments.ts';
import { notRunLines, reportFile } from '../evaluate.ts';
import { NotAskedError } from '../run/ask.ts';
import { inSeconds, percentile, tableLines } from '../run/report.ts';
import { hashOf, openResultsOf } from '../run/results.ts';
import { runTries } from '../run/run-cases.ts';
import { startGateway } from '../world/models.ts';
import { CAUSE_KINDS, type IncidentCase } from './case.ts';
import { missingIncidents } from './cases/all.ts';
import { causeIn, evidenceIn, gradeInvestigation, isPassed } from './grade.ts';
import { type InvestigatedCase, openInvestigator } from './investigate-case.ts';
import { createCauseJudge, type JudgeCause } from './judge-cause.ts';

/** One investigation of a case, as it is kept. */
const IncidentTry = z.object({
  case: z.string(),
  number: z.int(),
  version: z.string(),
  kind: z.enum(CAUSE_KINDS),
  isPassed: z.boolean(),
  isCauseRight: z.boolean(),
  hasEvidence: z.boolean(),
  falseClaims: z.array(z.string()),
  /** By a judge: 100, 65, 35 or 0. */
  score: z.number().optional(),
  title: z.string(),
  evidence: z.array(z.string()),
  tookMs: z.number(),
  tokens: z.number(),
  dollars: z.number().optional(),
});
type IncidentTry = z.infer<typeof IncidentTry>;

/** Investigates cases, prints how that went, and resolves to why the run as a whole is worth nothing. */
export async function evaluateIncidents(
  cases: readonly IncidentCase[],
  { model, judge: judgeModel, tries, tags, only, out, gateway: given }: EvalsRequest,
  {
    folder,
    print,
    env = process.env,
    signal,
  }: {
    /** For a gateway; the caller's to remove. */
    folder: string;
    print: (line: string) => void;
    env?: NodeJS.ProcessEnv;
    signal?: AbortSignal;
  },
): Promise<string[]> {
  const problems = missingIncidents(cases);
  const chosen = cases.filter(
    ({ id, kind }) =>
      (tags.length === 0 || tags.includes(kind)) && (only === undefined || id === only),
  );
  if (chosen.length === 0) problems.push('There is no such case.');
  const asked = { model, judge: judgeModel };
  const results = openResultsOf(out, asked, { schema: IncidentTry, versionOf: hashOf });
  const own = given ? undefined : await startGateway(env, join(folder, 'gateway'));
  const models = given ?? own;
  if (!models) throw new Error('there is no gateway');
  const gateway = createGatewayClient(models);
  let judgeTokens = 0;
  const onUsed = ({ tokens }: { tokens: number }) => {
    judgeTokens += tokens;
  };
  const judge =
    judgeModel === undefined ? undefined : createCauseJudge({ gateway, model: judgeModel, onUsed });
  const investigator = await openInvestigator({ model, models });
  try {
    const notRun = await runTries<IncidentCase, IncidentTry>(chosen, {
      ...{ tries, results, signal },
      async tryCase(one, number) {
        const done = await investigator.investigate(one, cases.indexOf(one));
        return await tryOf(one, number, { done, judge });
      },
      onResult: (result) => print(resultLine(result)),
    });
    const all = chosen.map((one) => results.of(one).filter(({ number }) => number <= tries));
    const rows = rowsOf(all, { model, tries });
    for (const line of ['', ...incidentLines(rows, tries)]) print(line);
    if (judge) print(`\nThe judge used ${judgeTokens} tokens.`);
    if (out !== undefined) {
      writeFileSync(reportFile(out), `${JSON.stringify({ ...asked, tries, rows }, null, 1)}\n`);
    }
    const interrupted = signal?.aborted ? ['It was interrupted.'] : [];
    return [...problems, ...notRunLines(notRun), ...interrupted];
  } finally {
    await investigator.close();
    await gateway.close();
    await own?.close();
  }
}

async function tryOf(
  one: IncidentCase,
  number: number,
  { done, judge }: { done: InvestigatedCase; judge: JudgeCause | undefined },
): Promise<IncidentTry> {
  const { card, used, tookMs } = done;
  const [why] = card.parts;
  // The model didn't answer, so nothing about it was measured.
  if (card.tone === 'warning' && why?.kind === 'text' && /model gateway|No model/.test(why.text)) {
    throw new NotAskedError(why.text);
  }
  const grade = gradeInvestigation(one, card);
  const { tokens, dollars } = used;
  return {
    ...{ case: one.id, number, version: hashOf(one), kind: one.kind },
    ...{ isPassed: isPassed(grade), ...grade },
    score: await judge?.(one, causeIn(card)),
    ...{ title: card.title, evidence: evidenceIn(card), tookMs: Math.round(tookMs) },
    ...{ tokens, dollars },
  };
}

function resultLine(result: IncidentTry | { case: string; number: number; why: string }): string {
  const begin = `${result.case}, try ${result.number}:`;
  if ('why' in result) return `${begin} not run. ${result.why}`;
  const { isPassed: passed, isCauseRight, hasEvidence, falseClaims, title } = result;
  const faults = [
    ...(isCauseRight ? [] : [`“${title}” is not the cause`]),
    ...(hasEvidence ? [] : ['the evidence has no fact that shows the cause']),
    ...falseClaims.map((claim) => `no look-up returned “${claim}”`),
  ];
  return passed ? `${begin} passed` : `${begin} failed: ${faults.join('; ')}`;
}

/** How cases went: all of a model, or of one kind of cause. */
interface IncidentRow {
  name: string;
  cases: number;
  passedAll: number;
  /** Shares of all tries, 0 to 1; undefined without tries. */
  passed: number | undefined;
  cause: number | undefined;
  evidence: number | undefined;
  falseClaims: number;
  /** Mean of the judge's scores. */
  judged: number | undefined;
  dollars: number | undefined;
  p50Ms: number | undefined;
  p95Ms: number | undefined;
  tokens: number;
}

/** The first row is the model's. Pure. */
function rowsOf(
  cases: ReadonlyArray<readonly IncidentTry[]>,
  { model, tries }: { model: string; tries: number },
): IncidentRow[] {
  const kinds = CAUSE_KINDS.map((kind) => ({
    name: kind,
    own: cases.filter(([first]) => first?.kind === kind),
  })).filter(({ own }) => own.length > 0);
  return [{ name: model, own: cases }, ...kinds].map(({ name, own }) => {
    const all = own.flat();
    const times = all.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    const share = (isOne: (one: IncidentTry) => boolean) =>
      meanOf(all.map((one) => Number(isOne(one))));
    const dollars = all.flatMap((one) => one.dollars ?? []);
    return {
      name,
      cases: own.length,
      passedAll: own.filter((one) => one.length === tries && one.every((try_) => try_.isPassed))
        .length,
      passed: share((one) => one.isPassed),
      cause: share(({ isCauseRight }) => isCauseRight),
      evidence: share(({ hasEvidence }) => hasEvidence),
      falseClaims: all.reduce((sum, one) => sum + one.falseClaims.length, 0),
      judged: meanOf(all.flatMap(({ score }) => score ?? [])),
      dollars: dollars.length === 0 ? undefined : dollars.reduce((sum, one) => sum + one, 0),
      p50Ms: percentile(times, 0.5),
      p95Ms: percentile(times, 0.95),
      tokens: all.reduce((sum, one) => sum + one.tokens, 0),
    };
  });
}

const meanOf = (numbers: readonly number[]) =>
  numbers.length === 0 ? undefined : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

const inPercent = (share: number | undefined) =>
  share === undefined ? '' : `${Math.round(100 * share)} %`;

/** A table for people. Pure. */
function incidentLines(rows: readonly IncidentRow[], tries: number): string[] {
  const head = ['model, kind of cause', 'cases', `pass^${tries}`, 'pass@1', 'cause', 'evidence'];
  const more = ['false claims', 'judge', 'dollars', 'p50', 'p95', 'tokens'];
  const cells = rows.map((row) => [
    ...[row.name, `${row.cases}`, `${row.passedAll}`],
    ...[row.passed, row.cause, row.evidence].map(inPercent),
    ...[`${row.falseClaims}`, row.judged === undefined ? '' : `${Math.round(row.judged)}`],
    row.dollars === undefined ? '' : row.dollars.toFixed(4),
    ...[row.p50Ms, row.p95Ms].map(inSeconds),
    `${row.tokens}`,
  ]);
  return tableLines([...head, ...more], cells);
}
