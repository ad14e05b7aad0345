import { CommandError } from '../shared/errors.ts';
import { type Command, type Field, type FormBegin, fieldsOf } from './command.ts';
import { checkInput } from './command-input.ts';

/** The command with a form that a line names with nothing after it, if it names one. Pure. */
export function formOf(line: string, commands: readonly Command[]): Command | undefined {
  const name = line.trim().replace(/^\//, '').toLowerCase().split(/\s+/).join(' ');
  return commands.find((command) => command.form && command.name === name);
}

/** What a form carries of these values. Pure. */
export function carriedIn(
  { form }: Command,
  values: Record<string, unknown>,
): Record<string, string> {
  const names = form?.carried ?? [];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

/** The inputs of a form, given what was chosen so far and how it began. Pure. */
export function formFields(
  command: Command,
  chosen: Record<string, unknown>,
  { choices = {}, hints = {} }: FormBegin = {},
): Field[] {
  const { form } = command;
  if (!form) return [];
  const fields = fieldsOf(command);
  const isRequired = (name: string) => form.required?.includes(name) ?? false;
  return form
    .inputs(withFirst(command, chosen))
    .flatMap((name) => fields.filter((field) => field.name === name))
    .map((field) => {
      const { name, description } = field;
      const offered = choices[name];
      return {
        ...field,
        ...(offered && { kind: 'choice' as const, choices: offered }),
        description: hints[name] ?? description,
        long: form.long?.includes(name) ?? false,
        required: field.required || name === form.chooses?.input || isRequired(name),
      };
    });
}

/** What was chosen, or stands chosen at first. Pure. */
export function withFirst(
  { form }: Command,
  chosen: Record<string, unknown>,
): Record<string, unknown> {
  return form?.chooses ? { [form.chooses.input]: form.chooses.first, ...chosen } : chosen;
}

/** What is wrong with a filled form, by the names of the inputs that it shows; nothing when all is right. Pure. */
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
