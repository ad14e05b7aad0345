import type { Writable } from 'node:stream';
import { Command } from 'commander';
import { plain } from '../app/plain.ts';

/** A command can't be run. The message is one line that says why, and what to type. */
export class CommandLineError extends Error {
  override name = 'CommandLineError' as const;
}

/** 0 done, 1 failed, 2 something to do or to confirm. */
export type ExitCode = 0 | 1 | 2;

/** Facts of package.json. */
export interface ProgramInfo {
  version: string;
  engines: { node: string };
}

/** One run of the command line. Terminals have `isTTY` and `columns`. */
export interface CommandRun {
  program: ProgramInfo;
  out: Writable;
  err: Writable & { isTTY?: boolean; columns?: number };
  /** Stays unset while the program that was started goes on. */
  exitCode?: ExitCode;
}

export interface PrintedResult {
  /** Printed with `--json`. docs/cli.md has the shapes; fields are only added. */
  data: unknown;
  lines: readonly string[];
  /** Lines that `--quiet` leaves; default: all. */
  quietLines?: readonly string[];
  code?: ExitCode;
}

export interface PrintOptions {
  json?: boolean;
  quiet?: boolean;
}

/** A command whose errors are one line and whose results are printed in one way. */
export class AskwatchCommand extends Command {
  private readonly run: CommandRun;

  constructor(name: string, run: CommandRun) {
    super(name);
    this.run = run;
  }

  override createCommand(name: string): AskwatchCommand {
    return new AskwatchCommand(name, this.run);
  }

  /** Commander calls this for wrong arguments, with `error: unknown command 'x'\n(Did you mean y?)`. */
  override error(message: string): never {
    const [what = '', nearest] = message.replace(/^error: /, '').split('\n(Did you mean ');
    const guess = nearest === undefined ? '' : ` Did you mean '${nearest.replace('?)', '')}'?`;
    const sentence = plain(what.charAt(0).toUpperCase() + what.slice(1).replace(/\.$/, ''));
    throw new CommandLineError(`${sentence}.${guess} See ${this.path()} --help.`);
  }

  example(text: string): this {
    return this.addHelpText('after', `\nExample:\n  $ ${text}`);
  }

  quiet(): this {
    return this.option('-q, --quiet', 'print only errors and results');
  }

  /** Adds an action, which is loaded when it runs, so that help appears at once. It gets arguments, options and the run. */
  // biome-ignore lint/suspicious/noExplicitAny: The declarations above an action determine its arguments.
  runs(load: () => Promise<(...given: any[]) => Promise<ExitCode | undefined>>): this {
    return this.action(async (...given) => {
      const act = await load();
      this.run.exitCode = (await act(...given.slice(0, -1), this.run)) ?? 0;
    });
  }

  /** Adds an action whose result is printed as `--json` and `--quiet` ask. */
  // biome-ignore lint/suspicious/noExplicitAny: As above.
  prints(load: () => Promise<(...given: any[]) => Promise<PrintedResult>>): this {
    return this.option('--json', 'print JSON')
      .quiet()
      .runs(async () => {
        const act = await load();
        return async (...given) => {
          const result = await act(...given);
          const { json, quiet } = this.opts<PrintOptions>();
          const { lines, quietLines = lines, code = 0 } = result;
          const shown = quiet ? quietLines : lines;
          if (json) this.run.out.write(`${JSON.stringify(result.data, null, 2)}\n`);
          else if (shown.length > 0) this.run.out.write(`${shown.join('\n')}\n`);
          return code;
        };
      });
  }

  private path(): string {
    const { parent } = this;
    return parent instanceof AskwatchCommand ? `${parent.path()} ${this.name()}` : this.name();
  }
}
