#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { runCommandLine } from './cli/commands.ts';

const code = await runCommandLine(process.argv.slice(2), {
  program: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')),
  out: process.stdout,
  err: process.stderr,
});
// Everything but a started program is done, and a request that hangs beyond its time limit must not keep it alive.
if (code !== undefined) {
  await new Promise((written) => process.stdout.write('', written));
  process.exit(code);
}
