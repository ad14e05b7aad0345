#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { ProgramInfo } from './cli/doctor.ts';
import { CommandLineError, feedbackOptions, keyOptions, monitorsOptions } from './cli/options.ts';

const HELP = `Usage: npx askwatch [<command>]

  start                                                    start Askwatch (default)
  doctor [--json]                                          check settings, tokens, channels, keys, disk and clock, and suggest fixes
  keys create --service gateway|monitoring --name <name>   create an API key; it is shown only once
  keys create --service monitoring --write …               create a key that can change monitors; without --write it only reads
  keys list [--service gateway|monitoring]                 list keys, with the usage of gateway keys
  keys limit <id> --tokens-per-day <number>|none           set or remove limits on a gateway key
  keys usage [<id>] [--days <number>]                      show gateway usage by day, key and model
  keys revoke <id>                                         revoke a key
  feedback export [--since <day>|<duration>] [--down]      export rated answers as JSON lines; --down exports only those rated 👎
  monitors plan [<file>]                                   show what MONITORS_FILE or another file would change; exit code 2 if anything would
  monitors apply [--yes]                                   apply MONITORS_FILE and wait; --yes confirms removing many monitors
  monitors export                                          print all monitors as YAML, ready for MONITORS_FILE
  monitors import --from gatus|file_sd <file>              convert a Gatus or Prometheus file to YAML
  move-state [--back] [--check]                            move all data from the data folder to DATABASE_URL; --back moves it back, --check only compares
  help                                                     show this help

Limits for keys limit and keys create: --requests-per-minute, --tokens-per-minute, --tokens-per-day, --tokens-per-month.
Settings come from the environment and .env; see docs/settings.md. You can manage keys while Askwatch runs.
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
    if (more !== undefined) throw new CommandLineError(`start doesn't accept ${more}.`);
    await import('./app/start.ts');
    return;
  }
  if (command === 'doctor') {
    if (rest.length > 0) throw new CommandLineError('doctor takes no arguments.');
    const { runDoctor } = await import('./cli/doctor.ts');
    const { text, problems } = await runDoctor({ json: values.json ?? false, program: program() });
    await new Promise((written) => process.stdout.write(text, written));
    // A request that hangs beyond its time limit must not keep the process alive.
    process.exit(problems > 0 ? 1 : 0);
  }
  if (values.json) throw new CommandLineError('--json works only with doctor.');
  if (command === 'move-state') {
    if (rest.length > 0) throw new CommandLineError('move-state takes no arguments.');
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
    throw new CommandLineError('--back and --check work only with move-state.');
  }
  if (command === 'feedback') {
    const { runFeedback } = await import('./cli/feedback.ts');
    const { version } = program();
    const bytes = await runFeedback(rest, values, { version, out: process.stdout });
    if (bytes === 0) process.stderr.write('No rated answers in that period.\n');
    return;
  }
  if (values.since !== undefined || values.down) {
    throw new CommandLineError('--since and --down work only with feedback export.');
  }
  if (command === 'monitors') {
    const { runMonitors } = await import('./cli/monitors.ts');
    const { lines, code } = await runMonitors(rest, values, program().version);
    (code === 1 ? process.stderr : process.stdout).write(`${lines.join('\n')}\n`);
    process.exitCode = code;
    return;
  }
  if (values.from !== undefined || values.yes) {
    throw new CommandLineError('--from and --yes work only with monitors.');
  }
  if (command !== 'keys') throw new CommandLineError(`Unknown command '${command}'.`);
  const { runKeys } = await import('./cli/keys.ts');
  const lines = await runKeys(rest, values, program().version);
  process.stdout.write(`${lines.join('\n')}\n`);
}

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
    // Node.js adds advice about positional arguments, which no command here needs.
    const [message = ''] = (error as Error).message.split(' To specify a positional argument');
    throw new CommandLineError(message);
  }
}
