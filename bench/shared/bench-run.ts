import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Finding, isMet, mediansOf, resultOf } from './finding.ts';

const AreaRun = z.object({
  name: z.string(),
  seconds: z.number(),
  /** Why it could not be measured, or not all of it. */
  failure: z.string().optional(),
  /** Remarks about the figures. */
  notes: z.array(z.string()),
  findings: z.array(Finding),
});
/** One area of a run. */
export type AreaRun = z.infer<typeof AreaRun>;

const BenchRun = z.object({
  format: z.literal('askwatch-bench-1'),
  /** When it began, ISO 8601. */
  date: z.iso.datetime(),
  /** The measured commit; ends with `+` if files differ from it, null without git. */
  commit: z.string().nullable(),
  node: z.string(),
  machine: z.object({ cores: z.number(), model: z.string() }),
  quick: z.boolean(),
  areas: z.array(AreaRun),
});
/** A run of the bench, as `--json` writes it and `--against` reads it. */
export type BenchRun = z.infer<typeof BenchRun>;

/** The run as JSON, with medians and verdicts. */
export function writtenRun(run: BenchRun): string {
  const areas = run.areas.map((area) => ({
    ...area,
    findings: area.findings.map((finding) => ({ ...finding, ...summaryOf(finding) })),
  }));
  return `${JSON.stringify({ ...run, areas }, null, 2)}\n`;
}

function summaryOf(finding: Finding) {
  return { median: mediansOf(finding), result: resultOf(finding), met: isMet(finding) };
}

/** Throws if findings lack unique names or figures. */
export function checkFindings(findings: readonly Finding[]): void {
  const names = new Set<string>();
  for (const finding of findings) {
    const { name } = finding;
    if (names.has(name)) throw new Error(`Two findings are called ${name}.`);
    names.add(name);
    const figures = finding.passes.flatMap((pass) => Object.values(pass));
    if (![...figures, resultOf(finding)].every(Number.isFinite)) {
      throw new Error(`There is no figure of ${name}.`);
    }
  }
}

/** Reads what `--json` wrote. Throws an error for people when it is something else. */
export function parseRun(text: string): BenchRun {
  // npm prints its own lines first.
  const start = text.startsWith('{') ? 0 : text.indexOf('\n{') + 1;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(start));
  } catch {
    throw new Error('it is no JSON');
  }
  const parsed = BenchRun.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') || 'all of it'}: ${issue?.message}`);
}

/** Reads a run from a file. Throws an error for people. */
export function readRun(file: string): BenchRun {
  try {
    return parseRun(readFileSync(file, 'utf8'));
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(
      `--against needs a file that --json wrote, and ${file} cannot be used: ${why}.`,
      {
        cause,
      },
    );
  }
}
