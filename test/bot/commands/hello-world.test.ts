import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { Command } from '../../../src/bot/commands/command.ts';
import { commands } from '../../../src/bot/features.ts';
import { blockOf, linesToAdd } from '../../helpers/bot/hello-world.ts';
import { cardOf, startTestBot, textOf } from '../../helpers/bot.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const COMMANDS = new URL('../../../src/bot/commands/', import.meta.url);

/** Writes the command of docs/hello-world.md into a file outside `src` and loads it. */
async function loadCommand(): Promise<Command> {
  const absolute = (_: string, path: string) => `from '${fileURLToPath(new URL(path, COMMANDS))}'`;
  const code = blockOf('ts')
    .replace(/from '(\.[^']+)'/g, absolute)
    .replace("from 'zod'", `from '${fileURLToPath(import.meta.resolve('zod'))}'`);
  const file = join(await temporaryFolder(), 'greet.ts');
  await writeFile(file, code);
  const { greetCommand } = await import(/* @vite-ignore */ file);
  return greetCommand;
}

test('the command of docs/hello-world.md answers once it is in the table of commands', async () => {
  const table = commands as Command[];
  table.push(await loadCommand());
  onTestFinished(() => {
    table.pop();
  });
  const { say } = await startTestBot();

  const greeting = await say('/askwatch greet Ada');
  expect(greeting).toMatchObject({ kind: 'card', private: false });
  expect(textOf(cardOf(greeting)).trim()).toBe('Hello, Ada!\nYour command works.');
  const person = { id: 'U2', name: 'Grace' };
  expect(cardOf(await say('/askwatch greet', { person })).title).toBe('Hello, Grace!');
  expect(textOf(cardOf(await say('/askwatch help ask')))).toContain('/askwatch greet …');
});

test('docs/hello-world.md names lines of commands.ts that are there once', () => {
  const table = readFileSync(new URL('commands.ts', COMMANDS), 'utf8').split('\n');
  const after = linesToAdd().map((line) => line.after);
  expect(after).toHaveLength(2);
  for (const line of after) expect(table.filter((other) => other === line)).toEqual([line]);
});
