import type { z } from 'zod';
import { type Command, type Field, fieldsOf } from './command.ts';

/** The checked input of a command, or what is wrong with it in sentences that name the inputs. */
export type CheckedInput =
  | { ok: true; input: Record<string, unknown> }
  | { ok: false; problems: string[]; byInput: Record<string, string> };

const TRUE = ['true', 'yes', 'on', '1'];
const FALSE = ['false', 'no', 'off', '0'];

/** Checks values against a command's schema. Texts become what the input is; empty texts count as not given. Pure. */
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
    const problem = field ? sentence(field, typed[field.name], issue) : `${issue.message}.`;
    problems.add(problem);
    if (field) byInput[field.name] ??= problem;
  }
  return { ok: false, problems: [...problems], byInput };
}

function typedValue(field: Field, value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (text === '') return undefined;
  const lower = text.toLowerCase();
  if (field.kind === 'integer' && /^[+-]?\d{1,15}$/.test(text)) return Number(text);
  if (field.kind === 'boolean' && TRUE.includes(lower)) return true;
  if (field.kind === 'boolean' && FALSE.includes(lower)) return false;
  if (field.kind === 'choice') {
    return field.choices.find((choice) => choice.toLowerCase() === lower) ?? text;
  }
  return text;
}

function sentence(field: Field, value: unknown, issue: z.core.$ZodIssue): string {
  const name = `“${field.name}”`;
  if (value === undefined) return `${name} is missing: ${field.description}`;
  const not = `, not “${shown(value)}”.`;
  if (field.kind === 'integer') return `${name} must be a whole number${range(field)}${not}`;
  if (field.kind === 'boolean') return `${name} must be true or false${not}`;
  if (field.kind === 'choice') return `${name} must be one of ${field.choices.join(', ')}${not}`;
  if (issue.code === 'too_big') return `${name} is too long: at most ${issue.maximum} characters.`;
  return `${name}: ${issue.message}.`;
}

function range({ min, max }: Field): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
