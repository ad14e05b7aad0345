import type { z } from 'zod';
import { type Command, type Field, fieldsOf, typedFieldsOf } from './command.ts';

/** Checked input, or its problems in sentences. */
export type CheckedInput =
  | { ok: true; input: Record<string, unknown> }
  | { ok: false; problems: string[]; byInput: Record<string, string> };

const TRUE = ['true', 'yes', 'on', '1'];
const FALSE = ['false', 'no', 'off', '0'];

/** Converts texts to the types of a command's schema, and checks them. An empty text is absent. Pure. */
export function checkInput(command: Command, values: Record<string, unknown>): CheckedInput {
  const fields = fieldsOf(command);
  const typed = Object.fromEntries(
    fields
      .map((field) => [field.name, typedValue(field, values[field.name])] as const)
      .filter(([, value]) => value !== undefined),
  );
  const result = command.input.safeParse(typed);
  if (result.success) return { ok: true, input: result.data };
  const problems = new Set<string>();
  const byInput: Record<string, string> = {};
  for (const issue of result.error.issues) {
    const field = fields.find(({ name }) => name === issue.path[0]);
    const problem = field ? problemOf(field, typed[field.name], issue) : `${issue.message}.`;
    problems.add(problem);
    if (field) byInput[field.name] ??= problem;
  }
  return { ok: false, problems: [...problems], byInput };
}

function typedValue(field: Field, value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (text === '') return field.resets ? null : undefined;
  const lower = text.toLowerCase();
  if (field.kind === 'integer' && /^[+-]?\d{1,15}$/.test(text)) return Number(text);
  if (field.kind === 'boolean' && TRUE.includes(lower)) return true;
  if (field.kind === 'boolean' && FALSE.includes(lower)) return false;
  if (field.kind === 'choice') {
    return field.choices.find((choice) => choice.toLowerCase() === lower) ?? text;
  }
  return text;
}

function problemOf(field: Field, value: unknown, issue: z.core.$ZodIssue): string {
  const name = `“${field.name}”`;
  if (value === undefined) return `${name} is missing: ${field.description}`;
  const not = `, not “${shortText(value)}”.`;
  if (field.kind === 'integer') return `${name} must be a whole number${range(field)}${not}`;
  if (field.kind === 'boolean') return `${name} must be true or false${not}`;
  if (field.kind === 'choice') return `${name} must be one of ${field.choices.join(', ')}${not}`;
  if (field.kind === 'file') return `${name} must be an attached file.`;
  if (issue.code === 'too_big') return `${name} is too long: at most ${issue.maximum} characters.`;
  return `${name}: ${issue.message}.`;
}

function range({ min, max }: Field): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** A typed line. Values are texts, for `checkInput`. */
export type ReadLine =
  | { kind: 'command'; command: Command; values: Record<string, string> }
  /** The words after the command are unclear. */
  | { kind: 'problem'; command: Command; problem: string }
  | { kind: 'unknown'; typed: string };

/** Room for the longest question and its other inputs. */
const MAX_LINE = 120_000;

/** Limit for lines that are read word by word, because finding closing quotes takes more than linear time. */
const MAX_WORDS_LINE = 4000;

/** `<https://example.com|example.com>`. Source: Slack docs, "Formatting message text". */
const WRAPPED_LINK = /<(https?:\/\/[^\s|<>]+)(?:\|([^<>]*))?>/g;

const CLOSING_QUOTES: Record<string, string> = {
  '"': '"”“',
  '“': '”“"',
  '”': '”"',
  '„': '“”"',
  "'": "'",
  '‘': '’',
  '’': '’',
  '«': '»',
};

/**
 * Reads a line such as `/monitor add https://example.com name="Shop" keyword=Cart`; the slash may be missing.
 * Never throws. Pure.
 */
export function readLine(line: string, commands: readonly Command[]): ReadLine {
  const text = line.slice(0, MAX_LINE).replace(WRAPPED_LINK, unwrapLink).trim().replace(/^\//, '');
  const found = commands
    .map((command) => ({ command, rest: afterName(text, command.name) }))
    .filter(({ rest }) => rest !== undefined)
    .sort((a, b) => b.command.name.length - a.command.name.length)[0];
  if (found?.rest === undefined) return { kind: 'unknown', typed: text };
  const { command, rest } = found;
  if (line.length > MAX_LINE) {
    const problem = `That is too long: at most ${MAX_LINE} characters in total.`;
    return { kind: 'problem', command, problem };
  }
  const values = command.wholeLine ? readWholeLine(rest, command) : readWords(rest, command);
  return typeof values === 'string'
    ? { kind: 'problem', command, problem: values }
    : { kind: 'command', command, values };
}

/** Slack links a bare `example.com` as `<http://example.com|example.com>`: the person typed the label. */
function unwrapLink(_whole: string, url: string, label: string | undefined): string {
  return label !== undefined && url.replace(/\/$/, '') === `http://${label.replace(/\/$/, '')}`
    ? label
    : url;
}

function afterName(text: string, name: string): string | undefined {
  let at = 0;
  for (const word of name.split(' ')) {
    const next = /\s*(\S+)/y;
    next.lastIndex = at;
    if (next.exec(text)?.[1]?.toLowerCase() !== word) return undefined;
    at = next.lastIndex;
  }
  return text.slice(at).trim();
}

function readWholeLine(rest: string, command: Command): Record<string, string> | string {
  const fields = typedFieldsOf(command);
  const values: Record<string, string> = {};
  let at = 0;
  for (;;) {
    const word = wordAt(rest, at);
    const field = word && fieldNamed(fields, word.key);
    if (!word || !field) break;
    if (values[field.name] !== undefined) return `“${field.name}” is set twice.`;
    values[field.name] = word.text;
    at = word.end;
  }
  const text = rest.slice(at).trim();
  const main =
    fields.find(({ required }) => required) ?? fields.find(({ kind }) => kind === 'text');
  if (text === '' || !main) return values;
  if (values[main.name] !== undefined) {
    return `“${main.name}” is set, but more words follow it.`;
  }
  const whole = wordAt(text, 0);
  return {
    ...values,
    [main.name]: whole?.quoted && !whole.key && whole.end === text.length ? whole.text : text,
  };
}

function readWords(rest: string, command: Command): Record<string, string> | string {
  if (rest.length > MAX_WORDS_LINE) {
    return `That line is too long: at most ${MAX_WORDS_LINE} characters.`;
  }
  const fields = typedFieldsOf(command);
  const values: Record<string, string> = {};
  const words: string[] = [];
  for (let word = wordAt(rest, 0); word; word = wordAt(rest, word.end)) {
    if (word.key === undefined) {
      words.push(word.text);
      continue;
    }
    const field = fieldNamed(fields, word.key);
    if (!field) {
      const refusal = command.refuses?.get(word.key.toLowerCase());
      if (refusal !== undefined) return refusal;
      const known = fields.map(({ name }) => `“${name}”`).join(', ');
      return `Unknown input “${word.key}”.${known ? ` Inputs: ${known}.` : ''} Put quotes around a word that contains =.`;
    }
    if (values[field.name] !== undefined) return `“${field.name}” is set twice.`;
    values[field.name] = word.text;
  }
  for (const { name, required } of fields) {
    if (!required || values[name] !== undefined) continue;
    const word = command.joinsWords ? words.splice(0).join(' ') || undefined : words.shift();
    if (word !== undefined) values[name] = word;
  }
  for (const { name, required, choices } of command.wordsChoose ? fields : []) {
    const word = words[0]?.toLowerCase();
    const isChoice = choices.some((one) => one.toLowerCase() === word);
    if (!required && values[name] === undefined && isChoice) values[name] = words.shift() ?? '';
  }
  if (words.length === 0) return values;
  const open = fields.find(({ required, kind }) => !required && kind === 'text');
  if (!open || values[open.name] !== undefined) {
    return `I didn't understand “${words.join(' ')}”.`;
  }
  return { ...values, [open.name]: words.join(' ') };
}

function fieldNamed(fields: readonly Field[], key: string | undefined): Field | undefined {
  return fields.find(({ name }) => name === key?.toLowerCase());
}

interface TypedWord {
  /** The key of `key=value`. A quoted word and a URL with `=` in its query have none. */
  key: string | undefined;
  text: string;
  quoted: boolean;
  /** Start of the next word. */
  end: number;
}

function wordAt(text: string, from: number): TypedWord | undefined {
  const start = /\s*(?:([A-Za-z][A-Za-z_]*)=)?/y;
  start.lastIndex = from;
  const key = start.exec(text)?.[1];
  const at = start.lastIndex;
  if (at >= text.length && key === undefined) return undefined;
  const quoted = quotedAt(text, at);
  const plain = /\S*/y;
  plain.lastIndex = at;
  const value = quoted ?? { text: plain.exec(text)?.[0] ?? '', end: plain.lastIndex };
  return { key, ...value, quoted: quoted !== undefined };
}

/** A quote closes only before a space or the end, so `'it's mine'` is one text. One that never closes is a letter. */
function quotedAt(text: string, at: number): { text: string; end: number } | undefined {
  const closing = CLOSING_QUOTES[text.charAt(at)];
  if (!closing) return undefined;
  const marks = new RegExp(`\\\\[\\\\${closing}]|[${closing}](?=\\s|$)`, 'g');
  marks.lastIndex = at + 1;
  let inside = '';
  let from = at + 1;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    inside += text.slice(from, mark.index);
    if (mark[0].length === 1) return { text: inside, end: marks.lastIndex };
    inside += mark[0].charAt(1);
    from = marks.lastIndex;
  }
  return undefined;
}
