import { type Command, fieldsOf, usageOf } from '../../bot/commands/command.ts';
import type { Suggestion } from '../../bot/commands/suggest.ts';
import { isSuggested } from '../../bot/commands/suggest.ts';
import type { ListedCommand } from '../shared/api-types.ts';

/** As many as a list shows without hiding what is typed. */
const MAX_SUGGESTIONS = 20;
const MAX_LABEL = 300;
/** Longer ones would not be taken back whole. */
const MAX_VALUE = 300;

/** Suggestions as the page takes them: no two of one value, none that is empty or too long to mean the same. Pure. */
export function shownSuggestions(suggestions: readonly Suggestion[]): Suggestion[] {
  const byValue = new Map<string, Suggestion>();
  for (const { label, value } of suggestions) {
    if (byValue.size === MAX_SUGGESTIONS) break;
    if (value.trim() === '' || value.length > MAX_VALUE || byValue.has(value)) continue;
    byValue.set(value, { label: label.slice(0, MAX_LABEL), value });
  }
  return [...byValue.values()];
}

/** A command as the page completes and explains it. Pure. */
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
