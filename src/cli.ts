#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { ProgramInfo } from './cli/doctor.ts';
import { CommandLineError, feedbackOptions, keyOptions, monitorsOptions } from './cli/options.ts';

const HELP = `Usage: npx askwatch [<command>]

  start                                                    start Askwatch; so does no command
  doctor [--json]                                          check settings, tokens, channels, keys, disk and clock, and say the fix
  keys create --service gateway|monitoring --name <name>   create an API key; it is shown only once
  keys create --service monitoring --write …               create a key that can change monitors; without --write it only reads
  keys list [--service gateway|monitoring]                 the keys there are, and what the gateway's have used
  keys limit <id> --tokens-per-day <number>|none           limit a key of the gateway, or no longer
  keys usage [<id>] [--days <number>]                      what was asked of the gateway, by day, key and model
  keys revoke <id>                                         refuse a key from now on
  feedback export [--since <day>|<duration>] [--down]      the answers that people rated, as lines of JSON; --down only those with 👎
  monitors plan [<file>]                                   show what MONITORS_FILE, or another file, would change; exit code 2 if anything
  monitors apply [--yes]                                   wait until MONITORS_FILE is applied; --yes also where it lost many monitors
  monitors export                                          all monitors as YAML, to be declared in a file
  monitors import --from gatus|file_sd <file>              what Gatus or Prometheus watches, as YAML
  move-state [--back] [--check]                            move all state from the data folder to DATABASE_URL, or back; --check only compares
  help                                                     this text

Limits, for keys limit and keys create: --requests-per-minute, --tokens-per-minute, --tokens-per-day, --tokens-per-month.
Settings come from the environment and .env; docs/settings.md lists them. Keys can be managed while Askwatch runs.
`;

try {
  await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(
    error instanceof CommandLineError
      ? `${error.message}\n\n${HELP}`
      : `${(await import('./app/startup-errors.ts')).startupSentence(error)}\n`,
  );
  process.exitCode = 1;
}

async function run(argv: string[]): Promise<void> {
  const { values, positionals } = parse(argv);
  const [command = 'start', ...rest] = positionals;
  if (values.help || command === 'help') {
    process.stdout.write(HELP);
    return;
  }
  if (command === 'start') {
    const [more] = [...rest, ...Object.keys(values).map((name) => `--${name}`)];
    if (more !== undefined) throw new CommandLineError(`start takes no ${more}.`);
    await import('./app/start.ts');
    return;
  }
  if (command === 'doctor') {
    if (rest.length > 0) throw new CommandLineError('doctor takes no more words.');
    const { runDoctor } = await import('./cli/doctor.ts');
    const { text, problems } = await runDoctor({ json: values.json ?? false, program: program() });
    await new Promise((written) => process.stdout.write(text, written));
    // A call that goes on beyond every limit must not keep the process.
    process.exit(problems > 0 ? 1 : 0);
  }
  if (values.json) throw new CommandLineError('--json is for doctor.');
  if (command === 'move-state') {
    if (rest.length > 0) throw new CommandLineError('move-state takes no more words.');
    const { runMoveState } = await import('./cli/move-state.ts');
    const isSame = await runMoveState({
      back: values.back ?? false,
      check: values.check ?? false,
      version: program().version,
      print: (line) => void process.stdout.write(`${line}\n`),
    });
    if (!isSame) process.exitCode = 1;
    return;
  }
  if (values.back || values.check) {
    throw new CommandLineError('--back and --check are for move-state.');
  }
  if (command === 'feedback') {
    const { runFeedback } = await import('./cli/feedback.ts');
    const { version } = program();
    const bytes = await runFeedback(rest, values, { version, out: process.stdout });
    if (bytes === 0) process.stderr.write('Nobody rated anything of that time.\n');
    return;
  }
  if (values.since !== undefined || values.down) {
    throw new CommandLineError('--since and --down are for feedback export.');
  }
  if (command === 'monitors') {
    const { runMonitors } = await import('./cli/monitors.ts');
    const { lines, code } = await runMonitors(rest, values, program().version);
    (code === 1 ? process.stderr : process.stdout).write(`${lines.join('\n')}\n`);
    process.exitCode = code;
    return;
  }
  if (values.from !== undefined || values.yes) {
    throw new CommandLineError('--from and --yes are for monitors.');
  }
  if (command !== 'keys') throw new CommandLineError(`There is no command '${command}'.`);
  const { runKeys } = await import('./cli/keys.ts');
  const lines = await runKeys(rest, values, program().version);
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** What package.json says of the program. */
function program(): ProgramInfo {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        ...keyOptions,
        ...feedbackOptions,
        ...monitorsOptions,
        json: { type: 'boolean' },
        back: { type: 'boolean' },
        check: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new CommandLineError((error as Error).message);
  }
}
