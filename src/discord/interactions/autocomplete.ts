import type { AutocompleteInteraction } from 'discord.js';
import { fittingSuggestions, type Suggestion } from '../../bot/commands/suggest.ts';
import { oneLine, within, withoutMentions } from '../render/text.ts';
import type { InteractionContext } from './interaction-context.ts';

/** Source: Discord docs, "Application Command Option Choice" and "Autocomplete". */
const MAX_CHOICES = 25;
const MAX_LENGTH = 100;

/** Suggestions may be too late, such as after a reconnect. */
export async function handleAutocomplete(
  { bot, log }: InteractionContext,
  typing: AutocompleteInteraction,
): Promise<void> {
  const { name, value } = typing.options.getFocused(true);
  const offered = choicesOf(await bot.suggest(name, value));
  try {
    await typing.respond(offered);
  } catch (error) {
    log.debug({ err: error, input: name }, 'could not send suggestions');
  }
}

export function choicesOf(
  suggestions: readonly Suggestion[],
): Array<{ name: string; value: string }> {
  const limits = { max: MAX_CHOICES, maxValueLength: MAX_LENGTH };
  return fittingSuggestions(suggestions, limits).map(({ label, value }) => ({
    name: within(oneLine(withoutMentions(label)), MAX_LENGTH) || value,
    value,
  }));
}
