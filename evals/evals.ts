import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readArguments } from './arguments.ts';
import { CASES } from './cases/cases.ts';
import { evaluate } from './evaluate.ts';
import { INCIDENT_CASES } from './incidents/cases/all.ts';
import { evaluateIncidents } from './incidents/evaluate-incidents.ts';
import { draftsOf } from './run/drafts.ts';
import { openWeeks } from './world/week.ts';

/** Measures how well a model answers: `npm run evals -- --model <id>`, see docs/evals.md. */

const print = (line: string) => void process.stdout.write(`${line}\n`);

try {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const request = readArguments(process.argv.slice(2));
  if (request === 'add') {
    print(draftsOf(await text(process.stdin)));
  } else {
    const interrupt = new AbortController();
    // The answer under way is the last one; a second signal ends the process.
    process.once('SIGINT', () => interrupt.abort());
    const folder = await mkdtemp(join(tmpdir(), 'askwatch-evals-'));
    const weeks = openWeeks(folder);
    try {
      const options = { folder, print, signal: interrupt.signal };
      const problems = request.incidents
        ? await evaluateIncidents(INCIDENT_CASES, request, options)
        : await evaluate(CASES, request, { weeks, ...options });
      for (const problem of problems) process.stderr.write(`${problem}\n`);
      if (problems.length > 0) process.exitCode = 1;
    } finally {
      await weeks.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
