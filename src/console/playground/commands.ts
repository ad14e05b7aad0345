import { type Command, typedFieldsOf, usageOf } from '../../bot/commands/command.ts';
import { fittingSuggestions, isSuggested, type Suggestion } from '../../bot/commands/suggest.ts';
import type { ListedCommand } from '../shared/api-types.ts';

/** A longer list would hide the input. */
const MAX_SUGGESTIONS = 20;
const MAX_LABEL = 300;
/** The limit of a typed value in the suggestions route. */
const MAX_VALUE = 300;

export function shownSuggestions(suggestions: readonly Suggestion[]): Suggestion[] {
  const limits = { max: MAX_SUGGESTIONS, maxValueLength: MAX_VALUE };
  return fittingSuggestions(suggestions, limits).map(({ label, value }) => ({
    label: label.slice(0, MAX_LABEL),
    value,
  }));
}

export function listedCommand(command: Command): ListedCommand {
  return {
    name: command.name,
    summary: command.summary,
    usage: usageOf(command),
    examples: command.examples ?? [],
    wholeLine: command.wholeLine ?? false,
    fields: typedFieldsOf(command).map((field) => ({ ...field, suggested: isSuggested(field) })),
  };
}
