import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createCommands } from '../../src/cli/commands.ts';
import { completionsFor } from '../../src/cli/completion.ts';
import { program, runCommand } from '../helpers/run-command.ts';

const root = createCommands({ program, out: new PassThrough(), err: new PassThrough() });

const leaves = (command: Command, path: string[] = []): string[][] =>
  command.commands.length === 0
    ? [path]
    : command.commands.flatMap((one) => leaves(one, [...path, one.name()]));

const paths = leaves(root).filter(([name]) => name !== 'complete');

test.each([
  ['montors', "Unknown command 'montors'. Did you mean 'monitors'? See askwatch --help."],
  ['fly', "Unknown command 'fly'. See askwatch --help."],
  ['--jsn', "Unknown option '--jsn'. See askwatch --help."],
  ['start now', "Too many arguments for 'start'. Expected 0 arguments but got 1."],
  ['keys fly', "Unknown command 'fly'. See askwatch keys --help."],
  ['keys lst', "Unknown command 'lst'. Did you mean 'list'? See askwatch keys --help."],
  ['keys list --servic gateway', "Unknown option '--servic'. Did you mean '--service'?"],
  ['keys list --service cat', 'Allowed choices are gateway, monitoring.'],
  ['keys create --service gateway', "Required option '--name <name>' not specified."],
  ['keys create --name x', "Required option '--service <service>' not specified."],
  ['keys revoke', "Missing required argument 'id'. See askwatch keys revoke --help."],
  ['feedback fly', "Unknown command 'fly'. See askwatch feedback --help."],
  ['feedback export more', 'Too many arguments'],
  ['monitors import nagios x.cfg', 'Allowed choices are '],
  ['\u001b[2J', "Unknown command '\\u{1b}[2J'."],
])('refuses askwatch %j in one line', async (words, sentence) => {
  const { code, out, err } = await runCommand(...words.split(' '));
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toContain(sentence);
  expect(err.trimEnd()).not.toContain('\n');
});

describe('help', () => {
  test.each([[[]], [['--help']], [['help']], [['keys']], [['help', 'keys']], [['monitors', '-h']]])(
    'is printed for %j',
    async (words) => {
      const { code, out, err } = await runCommand(...words);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('Usage: askwatch ');
    },
  );

  test.each(paths)('of %s %s has an example of that command', async (...path) => {
    const words = path.filter((word) => word !== undefined);
    const { code, out } = await runCommand(...words, '--help');
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`\\nExample:\\n  \\$ .*askwatch ${words.join(' ')}`));
  });
});

test('prints the version alone', async () => {
  expect(await runCommand('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' });
});

test.each([
  ['', ['start', 'doctor', 'keys', 'monitors', 'feedback', 'move-state', 'completion', 'help']],
  ['mo', ['monitors', 'move-state']],
  ['keys ', ['create', 'list', 'limit', 'usage', 'revoke', 'help']],
  ['keys list --s', ['--service']],
  ['keys list --service ', ['gateway', 'monitoring']],
  ['keys list --service gateway --', ['--service', '--json', '--quiet', '--help']],
  ['keys create --name ', []],
  ['keys create --name keys --ser', ['--service']],
  ['completion z', ['zsh']],
  ['monitors plan ', [':file']],
  ['monitors import gatus ', [':file']],
  ['monitors import file', ['file_sd']],
  ['start ', []],
])('completes askwatch %j', (line, words) => {
  const completions = completionsFor(root, line.split(' '));
  expect(completions.map((one) => one.split('\t')[0])).toEqual(words);
});
