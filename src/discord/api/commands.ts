import { isDeepStrictEqual } from 'node:util';
import {
  type APIApplicationCommand,
  type APIApplicationCommandBasicOption,
  type APIApplicationCommandSubcommandOption,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  type Client,
  InteractionContextType,
  type RESTPostAPIApplicationCommandsJSONBody,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
  Routes,
} from 'discord.js';
import type { Logger } from 'pino';
import { ASK_ABOUT } from '../../bot/commands/ask-about.ts';
import { type Command, type Field, fieldsOf } from '../../bot/commands/command.ts';
import { isSuggested } from '../../bot/commands/suggest.ts';
import { PlatformStartError } from '../../bot/shared/errors.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import { isRefusal, reasonOf } from './errors.ts';
import { inviteLink } from './permissions.ts';

/** Source: Discord docs, "Application Commands". */
const MAX_DESCRIPTION = 100;
const MAX_CHOICES = 25;

/** Commands work in servers and direct messages. */
const USABLE = {
  integration_types: [ApplicationIntegrationType.GuildInstall],
  contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
};

/** The typed commands, and the one in a message's menu. */
export function discordCommands(
  commands: readonly Command[],
): RESTPostAPIApplicationCommandsJSONBody[] {
  const { label: name } = ASK_ABOUT;
  return [...typedCommands(commands), { type: ApplicationCommandType.Message, name, ...USABLE }];
}

/** The first word is the command, the second a subcommand. */
export function typedCommands(
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
    ...USABLE,
  }));
}

function bodyOf(name: string, family: readonly Command[]) {
  const alone = family.find((command) => command.name === name);
  if (alone) {
    // Discord has no command that can be called both bare and with a subcommand.
    if (family.length > 1) throw new Error(`/${name} is both a command and a group of commands`);
    return { description: described(alone.summary), options: optionsOf(alone) };
  }
  const words = family.map((command) => command.name.slice(name.length + 1));
  return {
    description: described(`Askwatch: ${words.join(', ')}`),
    options: family.map(
      (command, index): APIApplicationCommandSubcommandOption => ({
        type: ApplicationCommandOptionType.Subcommand,
        name: words[index] ?? '',
        description: described(command.summary),
        options: optionsOf(command),
      }),
    ),
  };
}

/** Discord requires that required options come first. */
function optionsOf(command: Command): APIApplicationCommandBasicOption[] {
  const { form } = command;
  // A form asks for what a command with one is not given, except for what it carries.
  const fields = fieldsOf(command).map((field) =>
    form && !form.carried?.includes(field.name) ? { ...field, required: false } : field,
  );
  return [...fields.filter((one) => one.required), ...fields.filter((one) => !one.required)].map(
    optionOf,
  );
}

function optionOf(field: Field): APIApplicationCommandBasicOption {
  const { name, required } = field;
  const common = { name, description: described(field.description || name), required };
  if (field.kind === 'boolean') return { type: ApplicationCommandOptionType.Boolean, ...common };
  if (field.kind === 'integer') {
    return {
      type: ApplicationCommandOptionType.Integer,
      ...common,
      // zod's limits for "any whole number" mean nothing to people.
      ...(isLimit(field.min) ? { min_value: field.min } : {}),
      ...(isLimit(field.max) ? { max_value: field.max } : {}),
    };
  }
  if (field.kind === 'file') return { type: ApplicationCommandOptionType.Attachment, ...common };
  const offered = field.kind === 'choice' && field.choices.length <= MAX_CHOICES;
  if (isSuggested(field)) {
    return { type: ApplicationCommandOptionType.String, ...common, autocomplete: true };
  }
  const choices = field.choices.map((choice) => ({ name: choice, value: choice }));
  return { type: ApplicationCommandOptionType.String, ...common, ...(offered ? { choices } : {}) };
}

const described = (text: string) => shortened(text, MAX_DESCRIPTION);

const isLimit = (value: number | undefined): value is number =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;

type Declared = RESTPostAPIApplicationCommandsJSONBody;

/** A search through more servers would delay everything else. */
const MAX_GUILDS_SEARCHED = 20;

/**
 * Registers the commands in one server, or everywhere, unless they are there already: a name that is new to Discord
 * counts towards 200 a day. Those registered earlier go on working when Discord is too busy to register them again.
 * Throws `PlatformStartError` when Discord refuses.
 */
export async function registerCommands(
  client: Client,
  commands: readonly Command[],
  { guildId, log }: { guildId: string | undefined; log: Logger },
): Promise<void> {
  const { application } = client;
  if (!application) throw new Error('Discord reported no application');
  try {
    await register(client, application.id, discordCommands(commands), { guildId, log });
  } catch (error) {
    if (!isRefusal(error)) {
      log.error({ err: error }, 'could not register the commands');
      return;
    }
    const where =
      guildId === undefined
        ? ''
        : ` Check DISCORD_GUILD_ID and that the bot is in that server; add it at ${inviteLink(application.id, guildId)}`;
    const sentence = `Discord did not register the commands: ${reasonOf(error)}${where}`;
    throw new PlatformStartError(sentence, { cause: error });
  }
}

/** Removes commands of the same names in the other scope, since Discord would show both. */
async function register(
  { rest, guilds }: Client,
  applicationId: string,
  commands: Declared[],
  { guildId, log }: { guildId: string | undefined; log: Logger },
): Promise<void> {
  const globally = Routes.applicationCommands(applicationId);
  const inGuild = (id: string) => Routes.applicationGuildCommands(applicationId, id);
  const fetch = async (route: `/${string}`) => (await rest.get(route)) as APIApplicationCommand[];

  const route = guildId === undefined ? globally : inGuild(guildId);
  const registered = await fetch(route);
  if (!areSame(registered, commands)) {
    await rest.put(route, { body: commands });
    log.info({ guild: guildId, commands: commands.length }, 'registered the commands');
  }

  const names = new Set(commands.map(({ name }) => name));
  const searched = [...guilds.cache.keys()].slice(0, MAX_GUILDS_SEARCHED);
  const others = guildId === undefined ? searched.map(inGuild) : [globally];
  await Promise.all(
    others.map(async (other) => {
      const there = await fetch(other);
      const kept = there.filter(({ name }) => !names.has(name));
      if (kept.length < there.length) await rest.put(other, { body: kept });
    }),
  );
}

/** Ignores Discord's own additions, such as ids. */
const areSame = (registered: readonly object[], declared: readonly object[]) =>
  isDeepStrictEqual(registered.map(essence).sort(), declared.map(essence).sort());

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
    // Discord returns it for message commands.
    if (key === 'description' && value === '') return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const given = value as Record<string, unknown>;
    return Object.fromEntries(ESSENTIAL.map((name) => [name, given[name]]));
  });
}
