import type { Field, ListedCommand } from '../wire.ts';

/** One way to go on. */
export interface Suggestion {
  /** The whole line when it is taken. */
  line: string;
  label: string;
  detail: string;
}

/** What helps with a line that is being typed. */
export interface Completion {
  suggestions: Suggestion[];
  /** Whether Enter takes the first suggestion; else it sends the line, and Tab takes it. */
  eager: boolean;
  /** The command being typed, and the input its last word belongs to. */
  hint?: { command: ListedCommand; field?: Field };
}

/** Helps with a typed line whose end is where the caret is. Pure. */
export function complete(line: string, commands: readonly ListedCommand[]): Completion {
  if (!line.startsWith('/')) return { suggestions: [], eager: false };
  const typed = line.slice(1).toLowerCase();
  const command = commands
    .filter(({ name }) => typed === name || typed.startsWith(`${name} `))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (!command || typed === command.name) return ofNames(typed, commands, command);
  return ofInputs(line, command);
}

function ofNames(
  typed: string,
  commands: readonly ListedCommand[],
  exact: ListedCommand | undefined,
): Completion {
  const suggestions = commands
    .filter(({ name }) => name.startsWith(typed) && name !== exact?.name)
    .map(({ name, summary, fields }) => ({
      line: fields.length > 0 ? `/${name} ` : `/${name}`,
      label: `/${name}`,
      detail: summary,
    }));
  return {
    suggestions,
    eager: exact === undefined,
    ...(exact ? { hint: { command: exact } } : {}),
  };
}

function ofInputs(line: string, command: ListedCommand): Completion {
  const rest = line.slice(command.name.length + 2);
  const word = /\S*$/.exec(rest)?.[0] ?? '';
  const before = rest.slice(0, rest.length - word.length).trim();
  const words = before === '' ? [] : before.split(/\s+/);
  const start = line.slice(0, line.length - word.length);
  const suggest = (text: string, detail: string) => ({ line: start + text, label: text, detail });

  const [name, value] = splitAtEquals(word);
  const named = command.fields.find((field) => field.name === name);
  if (named && value !== undefined) {
    return {
      suggestions: valuesOf(named)
        .filter((one) => one.startsWith(value) && one !== value)
        .map((one) => suggest(`${named.name}=${one} `, named.description)),
      eager: false,
      hint: { command, field: named },
    };
  }

  const required = command.fields.filter((field) => field.required);
  const plainWords = words.filter((one) => !isInput(one, command));
  const current = required[plainWords.length];
  const hint = { command, ...(current ? { field: current } : {}) };
  if (current?.kind === 'choice') {
    const choices = current.choices.filter((one) => one.startsWith(word) && one !== word);
    return {
      suggestions: choices.map((one) => suggest(`${one} `, current.description)),
      eager: false,
      hint,
    };
  }
  // What follows is taken as it is, so no word of it is an input.
  if (command.wholeLine && plainWords.length > 0) return { suggestions: [], eager: false, hint };
  const suggestions = command.fields
    .filter((field) => !field.required && word !== '' && field.name.startsWith(word.toLowerCase()))
    .filter((field) => !words.some((one) => splitAtEquals(one)[0] === field.name))
    .map((field) => suggest(`${field.name}=`, field.description));
  return { suggestions, eager: false, hint };
}

const isInput = (word: string, command: ListedCommand) =>
  word.includes('=') && command.fields.some(({ name }) => name === splitAtEquals(word)[0]);

function splitAtEquals(word: string): [name: string, value: string | undefined] {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function valuesOf(field: Field): string[] {
  return field.kind === 'boolean' ? ['true', 'false'] : field.choices;
}
