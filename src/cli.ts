#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { runCommandLine } from './cli/commands.ts';

const args = process.argv.slice(2);
if (args[0] !== 'start') {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of the pipe, such as `head`, has read enough.
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}
const code = await runCommandLine(args, {
  program: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')),
  out: process.stdout,
  err: process.stderr,
});
// Everything but a started program is done, and a request that hangs beyond its time limit must not keep it alive.
if (code !== undefined) {
  await new Promise((written) => process.stdout.write('', written));
  process.exit(code);
}
