import { type Command, typedFieldsOf, usageOf } from '../../bot/commands/command.ts';
import type { Suggestion } from '../../bot/commands/suggest.ts';
import { fittingSuggestions, isSuggested } from '../../bot/commands/suggest.ts';
import type { ListedCommand } from '../shared/api-types.ts';

/** As many as a list shows without hiding what is typed. */
const MAX_SUGGESTIONS = 20;
const MAX_LABEL = 300;
/** Longer ones would not be taken back whole. */
const MAX_VALUE = 300;

/** Suggestions as the page takes them. Pure. */
export function shownSuggestions(suggestions: readonly Suggestion[]): Suggestion[] {
  const limits = { max: MAX_SUGGESTIONS, maxValueLength: MAX_VALUE };
  return fittingSuggestions(suggestions, limits).map(({ label, value }) => ({
    label: label.slice(0, MAX_LABEL),
    value,
  }));
}

/** A command as the page completes and explains it. Pure. */
export function listedCommand(command: Command): ListedCommand {
  return {
    name: command.name,
    summary: command.summary,
    usage: usageOf(command),
    examples: command.examples ?? [],
    wholeLine: command.wholeLine ?? false,
    fields: typedFieldsOf(command).map((field) => ({
      ...field,
      ...(isSuggested(field) && { suggested: true as const }),
    })),
  };
}
