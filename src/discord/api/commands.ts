import {
  type APIApplicationCommand,
  type APIApplicationCommandBasicOption,
  type APIApplicationCommandSubcommandOption,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type REST,
  type RESTPostAPIApplicationCommandsJSONBody,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
  Routes,
} from 'discord.js';
import type { Logger } from 'pino';
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

type Declared = RESTPostAPIApplicationCommandsJSONBody;

/** More servers than this, and looking through all of them for leftovers would delay everything else. */
const MAX_GUILDS_SEARCHED = 20;

/**
 * Registers the commands in one server, or everywhere, unless they are there already: a name that is new to Discord
 * counts towards 200 a day. In the other scope commands of the same names are removed, since Discord would show both.
 */
export async function registerCommands(options: {
  rest: REST;
  applicationId: string;
  commands: Declared[];
  /** The one server; everywhere when undefined. */
  guildId: string | undefined;
  /** The servers the bot is in. */
  guildIds: string[];
  log: Logger;
}): Promise<void> {
  const { rest, applicationId, commands, guildId, guildIds, log } = options;
  const globally = Routes.applicationCommands(applicationId);
  const inGuild = (id: string) => Routes.applicationGuildCommands(applicationId, id);
  const fetch = async (route: `/${string}`) => (await rest.get(route)) as APIApplicationCommand[];

  const route = guildId === undefined ? globally : inGuild(guildId);
  const registered = await fetch(route);
  if (!sameCommands(registered, commands)) {
    await rest.put(route, { body: commands });
    log.info({ guild: guildId, commands: commands.length }, 'registered the commands');
  }

  const names = new Set(commands.map(({ name }) => name));
  const others =
    guildId === undefined ? guildIds.slice(0, MAX_GUILDS_SEARCHED).map(inGuild) : [globally];
  for (const other of others) {
    const there = await fetch(other);
    const kept = there.filter(({ name }) => !names.has(name));
    if (kept.length < there.length) await rest.put(other, { body: kept });
  }
}

/** Whether Discord has exactly these commands; its own additions, such as ids, do not count. Pure. */
export function sameCommands(
  registered: readonly APIApplicationCommand[],
  declared: readonly Declared[],
): boolean {
  return (
    registered.length === declared.length &&
    declared.every((command) => {
      const same = registered.find(({ name }) => name === command.name);
      return same !== undefined && essence(same) === essence(command);
    })
  );
}

/** What we declare of a command, in one order, with Discord's defaults left out. */
const ESSENTIAL = [
  'type',
  'name',
  'description',
  'required',
  'autocomplete',
  'choices',
  'min_value',
  'max_value',
  'value',
  'options',
  'contexts',
  'integration_types',
];

function essence(command: object): string {
  return JSON.stringify(command, (key, value: unknown) => {
    if (Array.isArray(value) && value.length === 0) return undefined;
    if (['required', 'autocomplete'].includes(key) && value === false) return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const given = value as Record<string, unknown>;
    return Object.fromEntries(ESSENTIAL.map((name) => [name, given[name]]));
  });
}
