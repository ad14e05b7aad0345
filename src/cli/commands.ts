import { styleText } from 'node:util';
import { Argument, CommanderError, Option } from 'commander';
import { AskwatchCommand, CommandLineError, type CommandRun, type ExitCode } from './command.ts';
import { addFeedbackCommand } from './feedback-command.ts';
import { addMonitorsCommand } from './monitors-command.ts';

/** Runs a command. Resolves to its exit code, or to `undefined` if it started the program. */
export async function runCommandLine(
  args: readonly string[],
  run: CommandRun,
): Promise<ExitCode | undefined> {
  try {
    await createCommands(run).parseAsync(args, { from: 'user' });
    return run.exitCode;
  } catch (error) {
    // Help or the version has been printed.
    if (error instanceof CommanderError) return 0;
    const sentence =
      error instanceof CommandLineError
        ? error.message
        : (await import('../app/startup-errors.ts')).startupSentence(error);
    run.err.write(`${sentence}\n`);
    return 1;
  }
}

export function createCommands(run: CommandRun): AskwatchCommand {
  const write = (text: string) => void run.out.write(text);
  const root = new AskwatchCommand('askwatch', run)
    .description(
      'Askwatch answers questions and watches your services, in Slack, Discord and a web console.',
    )
    .version(run.program.version, '--version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ styleTitle: (title) => styleText('bold', title) })
    // Commander writes the help of an incomplete command to standard error. Wrong arguments are thrown instead.
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride()
    .addHelpText(
      'after',
      '\nExamples:\n  $ askwatch start\n  $ askwatch help keys create\n\nSettings come from the environment and .env. Exit codes: 0 done, 1 failed, 2 something to do or to confirm.',
    );
  root
    .command('start')
    .description('Start Askwatch')
    .example('PORT=8080 askwatch start')
    .action(async () => void (await import('../app/start.ts')));
  root
    .command('doctor')
    .description('Check settings, tokens, channels, keys, disk and clock, and suggest fixes')
    .example('askwatch doctor')
    .prints(async () => (await import('./doctor.ts')).runDoctor);
  addKeys(root.command('keys').description('Create, list, limit and revoke API keys'));
  addMonitorsCommand(root);
  addFeedbackCommand(root);
  root
    .command('move-state')
    .description('Move all data from the data folder to the database in DATABASE_URL')
    .option('--back', 'move it from the database to the data folder')
    .option('--check', 'only compare both sides')
    .example('DATABASE_URL=postgres://askwatch:password@127.0.0.1/askwatch askwatch move-state')
    .prints(async () => (await import('./move-state.ts')).runMoveState);
  root
    .command('completion')
    .description('Print a script that completes commands and options')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .example('askwatch completion bash > ~/.local/share/bash-completion/completions/askwatch')
    .runs(async () => {
      const { SCRIPTS } = await import('./completion.ts');
      return async (shell: keyof typeof SCRIPTS) => void run.out.write(SCRIPTS[shell]);
    });
  root
    .command('complete', { hidden: true })
    .argument('[words...]')
    .runs(async () => {
      const { completionsFor } = await import('./completion.ts');
      return async (words) => {
        for (const line of completionsFor(root, words)) run.out.write(`${line}\n`);
      };
    });
  return root;
}

const serviceOption = (about: string) =>
  new Option('--service <service>', about).choices(['gateway', 'monitoring']);

function addKeys(keys: AskwatchCommand): void {
  const withLimits = (command: AskwatchCommand, value: string) =>
    command
      .option(`--requests-per-minute <${value}>`, 'limit of a gateway key')
      .option(`--tokens-per-minute <${value}>`, 'limit of a gateway key')
      .option(`--tokens-per-day <${value}>`, 'limit of a gateway key; a day is UTC')
      .option(`--tokens-per-month <${value}>`, 'limit of a gateway key; a month is UTC');
  const create = keys
    .command('create')
    .description('Create an API key; it is shown only once')
    .addOption(serviceOption('the service that accepts it').makeOptionMandatory())
    .requiredOption('--name <name>', '1 to 100 characters')
    .option('--write', 'let a monitoring key change monitors; without it the key only reads');
  withLimits(create, 'number')
    .example('askwatch keys create --service gateway --name "ci job" --tokens-per-day 200000')
    .prints(async () => (await import('./keys.ts')).createKey);
  keys
    .command('list')
    .description('List keys, with the usage of gateway keys')
    .addOption(serviceOption("only this service's keys"))
    .example('askwatch keys list --service gateway')
    .prints(async () => (await import('./keys.ts')).listKeys);
  withLimits(keys.command('limit'), 'number|none')
    .description('Set or remove limits of a gateway key')
    .argument('<id>', 'from keys list')
    .example('askwatch keys limit ZRWsNBZz --tokens-per-minute 20000 --tokens-per-day none')
    .prints(async () => (await import('./keys.ts')).limitKey);
  keys
    .command('usage')
    .description('Show gateway usage by day, key and model')
    .argument('[id]', 'only this key')
    .option('--days <number>', '1 to 400', '30')
    .example('askwatch keys usage ZRWsNBZz --days 7')
    .prints(async () => (await import('./keys.ts')).showUsage);
  keys
    .command('revoke')
    .description('Revoke a key')
    .argument('<id>', 'from keys list')
    .example('askwatch keys revoke ZRWsNBZz')
    .prints(async () => (await import('./keys.ts')).revokeKey);
}
