import { ApplicationCommandOptionType } from 'discord.js';
import type { RegisteredCommand } from './routes.ts';

/** The data of a command that somebody is typing. */
export function begun(known: RegisteredCommand[], name: string, values: Record<string, string>) {
  const last = Object.keys(values).at(-1);
  const [first, second] = name.split(' ');
  const declared = known.find((one) => one.name === first)?.options ?? [];
  const options = second ? declared.find((one) => one.name === second)?.options : declared;
  if (options?.find((option) => option.name === last)?.autocomplete !== true) {
    throw new Error(`/${name} offers nothing for ${last}`);
  }
  const given = Object.entries(values).map(([key, value]) => ({
    name: key,
    type: ApplicationCommandOptionType.String,
    value,
    ...(key === last ? { focused: true } : {}),
  }));
  const below = { name: second, type: ApplicationCommandOptionType.Subcommand, options: given };
  return { id: '1', name: first, type: 1, options: second ? [below] : given };
}

/** The data of a typed command, checked against its registration as Discord's client does. */
export function typed(known: RegisteredCommand[], name: string, values: Record<string, unknown>) {
  const [first = '', second] = name.split(' ');
  const command = known.find((candidate) => candidate.name === first);
  const subcommand = command?.options?.find((option) => option.name === second);
  if (!command || (second !== undefined && !subcommand)) {
    throw new Error(`/${name} is not registered`);
  }
  const declared = (subcommand ?? command).options ?? [];
  const missing = declared.find((option) => option.required === true && !(option.name in values));
  if (missing) throw new Error(`/${name} needs ${missing.name}`);
  const options = Object.entries(values).map(([key, value]) => {
    const option = declared.find((candidate) => candidate.name === key);
    if (!option) throw new Error(`/${name} has no option ${key}`);
    const choices = option.choices as Array<{ value: unknown }> | undefined;
    if (choices && !choices.some((choice) => choice.value === value)) {
      throw new Error(`/${name} offers no ${key} ${String(value)}`);
    }
    return { name: key, type: option.type, value };
  });
  return {
    id: command.id,
    name: first,
    type: 1,
    options: subcommand
      ? [{ name: second, type: ApplicationCommandOptionType.Subcommand, options }]
      : options,
  };
}
