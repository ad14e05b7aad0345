#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CommandLineError, keyOptions } from './cli/options.ts';

const HELP = `Usage: npx askwatch <command>

  start                                                    start Askwatch
  doctor [--json]                                          check settings, tokens, channels, keys, disk and clock, and say the fix
  keys create --service gateway|monitoring --name <name>   make an API key; it is shown once
  keys list [--service gateway|monitoring]                 the keys there are, and what the gateway's have used
  keys limit <id> --tokens-per-day <number>|none           limit a key of the gateway, or no longer
  keys usage [<id>] [--days <number>]                      what was asked of the gateway, by day, key and model
  keys revoke <id>                                         refuse a key from now on
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
  const [command, ...rest] = positionals;
  if (values.help || command === undefined || command === 'help') {
    process.stdout.write(HELP);
    return;
  }
  if (command === 'start') {
    await import('./app/start.ts');
    return;
  }
  if (command === 'doctor') {
    if (rest.length > 0) throw new CommandLineError('doctor takes no more words.');
    const { runDoctor } = await import('./cli/doctor.ts');
    const program = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    const { text, problems } = await runDoctor({ json: values.json ?? false, program });
    await new Promise((written) => process.stdout.write(text, written));
    // A call that goes on beyond every limit must not keep the process.
    process.exit(problems > 0 ? 1 : 0);
  }
  if (command !== 'keys') throw new CommandLineError(`There is no command '${command}'.`);
  if (values.json) throw new CommandLineError('--json is for doctor.');
  const { runKeys } = await import('./cli/keys.ts');
  const lines = await runKeys(rest, values);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        ...keyOptions,
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new CommandLineError((error as Error).message);
  }
}
