import {
  type APIApplicationCommandBasicOption,
  type APIApplicationCommandSubcommandOption,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
} from 'discord.js';
import { type Command, type Field, fieldsOf } from '../../bot/commands/command.ts';
import { isSuggested } from '../../bot/commands/suggest.ts';

/** Discord's limits. Source: Discord docs, "Application Commands". */
const MAX_DESCRIPTION = 100;
const MAX_CHOICES = 25;

/**
 * The command table as Discord wants it: the first word is the command, a second word a subcommand. For servers and
 * direct messages. Pure.
 */
export function discordCommands(
  commands: readonly Command[],
): RESTPostAPIChatInputApplicationCommandsJSONBody[] {
  const byFirstWord = new Map<string, Command[]>();
  for (const command of commands) {
    const [first = ''] = command.name.split(' ');
    byFirstWord.set(first, [...(byFirstWord.get(first) ?? []), command]);
  }
  return [...byFirstWord].map(([name, family]) => ({
    type: ApplicationCommandType.ChatInput,
    name,
    ...bodyOf(name, family),
    integration_types: [ApplicationIntegrationType.GuildInstall],
    contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
  }));
}

function bodyOf(name: string, family: readonly Command[]) {
  const alone = family.find((command) => command.name === name);
  if (alone) {
    // Discord has no command that can be called both bare and with a subcommand.
    if (family.length > 1) throw new Error(`/${name} is a command and a group of commands`);
    return { description: shortened(alone.summary), options: optionsOf(alone) };
  }
  const words = family.map((command) => command.name.slice(name.length + 1));
  return {
    description: shortened(`Askwatch: ${words.join(', ')}`),
    options: family.map(
      (command, index): APIApplicationCommandSubcommandOption => ({
        type: ApplicationCommandOptionType.Subcommand,
        name: words[index] ?? '',
        description: shortened(command.summary),
        options: optionsOf(command),
      }),
    ),
  };
}

/** Discord refuses a command whose required options do not come first. */
function optionsOf(command: Command): APIApplicationCommandBasicOption[] {
  // A form asks for what a command with one is not given.
  const fields = fieldsOf(command).map((field) =>
    command.form ? { ...field, required: false } : field,
  );
  return [...fields.filter((one) => one.required), ...fields.filter((one) => !one.required)].map(
    optionOf,
  );
}

function optionOf(field: Field): APIApplicationCommandBasicOption {
  const { name, required } = field;
  const common = { name, description: shortened(field.description || name), required };
  if (field.kind === 'boolean') return { type: ApplicationCommandOptionType.Boolean, ...common };
  if (field.kind === 'integer') {
    return {
      type: ApplicationCommandOptionType.Integer,
      ...common,
      // What zod gives for "any whole number" is no limit a person should read.
      ...(isLimit(field.min) ? { min_value: field.min } : {}),
      ...(isLimit(field.max) ? { max_value: field.max } : {}),
    };
  }
  const offered = field.kind === 'choice' && field.choices.length <= MAX_CHOICES;
  if (isSuggested(field)) {
    return { type: ApplicationCommandOptionType.String, ...common, autocomplete: true };
  }
  const choices = field.choices.map((choice) => ({ name: choice, value: choice }));
  return { type: ApplicationCommandOptionType.String, ...common, ...(offered ? { choices } : {}) };
}

const isLimit = (value: number | undefined): value is number =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;

function shortened(text: string): string {
  return text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION - 1)}…`;
}
