import { CommandError } from '../shared/errors.ts';
import { type Command, type Field, type FormBegin, fieldsOf } from './command.ts';
import { checkInput, readLine } from './command-input.ts';

/** A command whose form opens, and the values that the form takes along. */
export interface WantedForm {
  command: Command;
  carried: Record<string, string>;
}

/** The form that a line opens: the line has only values that the form carries. Pure. */
export function formOf(line: string, commands: readonly Command[]): WantedForm | undefined {
  const withForm = commands.filter(({ form }) => form);
  const read = readLine(line, withForm);
  if (read.kind !== 'command') return undefined;
  const { command, values } = read;
  return opensForm(command, values) ? { command, carried: values } : undefined;
}

/** True if the values are exactly the ones that the command's form carries. Pure. */
export function opensForm({ form }: Command, values: Record<string, unknown>): boolean {
  const carried: readonly string[] = form?.carried ?? [];
  const names = Object.keys(values).filter((name) => values[name] !== undefined);
  return (
    form !== undefined &&
    names.length === carried.length &&
    names.every((name) => carried.includes(name))
  );
}

/** The values that a form takes from its button. Pure. */
export function carriedIn(
  { form }: Command,
  values: Record<string, unknown>,
): Record<string, string> {
  const carried = (form?.carried ?? []).map((name): [string, unknown] => [name, values[name]]);
  return Object.fromEntries(
    carried.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The inputs of a form. Pure. */
export function formFields(
  command: Command,
  chosen: Record<string, unknown>,
  { choices = {}, hints = {}, inputs }: FormBegin = {},
): Field[] {
  const { form } = command;
  if (!form) return [];
  const fields = fieldsOf(command);
  const required = [form.chooses?.input, ...(form.required ?? [])];
  return (inputs ?? form.inputs(withFirst(command, chosen)))
    .flatMap((name) => fields.filter((field) => field.name === name))
    .map((field) => ({
      ...field,
      kind: choices[field.name] ? 'choice' : field.kind,
      choices: choices[field.name] ?? field.choices,
      description: hints[field.name] ?? field.description,
      long: form.long?.includes(field.name) ?? false,
      required: field.required || required.includes(field.name),
    }));
}

/** The choice so far, or the first value. Pure. */
export function withFirst(
  { form }: Command,
  chosen: Record<string, unknown>,
): Record<string, unknown> {
  return form?.chooses ? { [form.chooses.input]: form.chooses.first, ...chosen } : chosen;
}

/** Problems of a filled form, by names of inputs. Pure. */
export function formProblems(
  command: Command,
  values: Record<string, unknown>,
): Record<string, string> {
  const [first] = formFields(command, values);
  const checked = checkInput(command, values);
  if (!checked.ok) return checked.byInput;
  try {
    command.form?.check?.(checked.input);
    return {};
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const input = error.input ?? first?.name;
    return input === undefined ? {} : { [input]: error.message };
  }
}
