import { type Command, fieldsOf, usageOf } from '../../bot/commands/command.ts';
import { isSuggested } from '../../bot/commands/suggest.ts';
import type { ListedCommand } from '../shared/api-types.ts';

/** A command as the page is told of it. Pure. */
export function listedCommand(command: Command): ListedCommand {
  return {
    name: command.name,
    summary: command.summary,
    usage: usageOf(command),
    examples: command.examples,
    wholeLine: command.wholeLine ?? false,
    fields: fieldsOf(command).map((field) => ({
      ...field,
      ...(isSuggested(field) && { suggested: true as const }),
    })),
  };
}
