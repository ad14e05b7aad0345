import type { Field, ListedCommand, ListedField } from '../../../shared/api-types.ts';

export interface LineSuggestion {
  line: string;
  label: string;
  detail: string;
}

export interface Completion {
  suggestions: LineSuggestion[];
  /** True if Enter takes the first suggestion. Otherwise Enter sends the line, and Tab takes the suggestion. */
  eager: boolean;
  hint?: { command: ListedCommand; field?: Field };
  /** The input whose values the server knows. */
  ask?: { input: string; typed: string; lineWith(value: string): string };
}

/** Completes a line whose caret is at its end. Pure. */
export function completeLine(line: string, commands: readonly ListedCommand[]): Completion {
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
    hint: exact && { command: exact },
  };
}

function ofInputs(line: string, command: ListedCommand): Completion {
  const rest = line.slice(command.name.length + 2);
  const quoted = inQuotes(line, command);
  if (quoted) return quoted;
  const word = rest.split(/\s/).at(-1) ?? '';
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
      ...asking(named, value, `${start}${named.name}=`),
    };
  }

  const required = command.fields.filter((field) => field.required);
  const plainWords = words.filter((one) => !isInput(one, command));
  const current = required[plainWords.length] ?? openField(command, plainWords.length);
  const hint = { command, field: current };
  if (current?.kind === 'choice') {
    const choices = current.choices.filter((one) => one.startsWith(word) && one !== word);
    return {
      suggestions: choices.map((one) => suggest(`${one} `, current.description)),
      eager: false,
      hint,
    };
  }
  // The rest of the line is one text, so its words aren't inputs.
  if (command.wholeLine && plainWords.length > 0) {
    const open = required[0] ?? openField(command, 0);
    const typed = rest.slice(rest.indexOf(plainWords[0] ?? ''));
    const before = line.slice(0, line.length - typed.length);
    return { suggestions: [], eager: false, hint, ...asking(open, typed, before) };
  }
  const suggestions = command.fields
    .filter((field) => !field.required && word !== '' && field.name.startsWith(word.toLowerCase()))
    .filter((field) => !words.some((one) => splitAtEquals(one)[0] === field.name))
    .map((field) => suggest(`${field.name}=`, field.description));
  return { suggestions, eager: false, hint, ...asking(current, word, start) };
}

/** The optional text that takes the remaining words, if the server offers values for it. */
function openField({ fields }: ListedCommand, plainWords: number): ListedField | undefined {
  const open = fields.find(({ required, kind }) => !required && kind === 'text');
  return open?.suggested && fields.filter(({ required }) => required).length === plainWords
    ? open
    : undefined;
}

/** The request to the server for an input. `before` is the line without the typed value. */
function asking(field: ListedField | undefined, typed: string, before: string) {
  if (!field?.suggested) return {};
  const lineWith = (value: string) => `${before}${asWord(value)} `;
  return { ask: { input: field.name, typed: typed.trim(), lineWith } };
}

/** Completes a value with open quotes such as `filter="My sh`. */
function inQuotes(line: string, command: ListedCommand): Completion | undefined {
  const [whole = '', name, value = ''] = /(?<=\s)([A-Za-z_]+)="([^"]*)$/.exec(line) ?? [];
  const field = command.fields.find((one) => one.name === name);
  if (!field) return undefined;
  const before = `${line.slice(0, line.length - whole.length)}${field.name}=`;
  return {
    suggestions: [],
    eager: false,
    hint: { command, field },
    ...asking(field, value, before),
  };
}

/** A value as one word of a line; `src/bot/commands/command-input.ts` reads it. */
function asWord(value: string): string {
  return /^[^\s"'=“”„‘’«»\\]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, '\\$&')}"`;
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
