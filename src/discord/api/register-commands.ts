import {
  type APIApplicationCommand,
  type REST,
  type RESTPostAPIApplicationCommandsJSONBody,
  Routes,
} from 'discord.js';
import type { Logger } from 'pino';

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
