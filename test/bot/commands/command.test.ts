import { expect, test } from 'vitest';
import { fieldsOf } from '../../../src/bot/commands/command.ts';
import { commands } from '../../../src/bot/commands/commands.ts';

test('the schema of a command is read once: it takes longer than all else that a command does', () => {
  for (const command of commands) expect(fieldsOf(command)).toBe(fieldsOf(command));
});
