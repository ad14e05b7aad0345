import {
  type APILabelComponent,
  type APIModalInteractionResponseCallbackData,
  type APITextDisplayComponent,
  ComponentType,
  TextInputStyle,
} from 'discord.js';
import { type Command, type Field, type FormBegin, fieldsOf } from '../../bot/commands/command.ts';
import { carriedIn, formFields } from '../../bot/commands/form.ts';
import { encodeAction } from '../../bot/shared/card.ts';
import { oneLine, plainWithin, within } from './text.ts';

/** Source: Discord docs, "Component Reference" (Label, String Select, Text Input) and "Modal". */
const MAX_TITLE = 45;
const MAX_LABEL = 45;
const MAX_DESCRIPTION = 100;
const MAX_INPUTS = 5;
const MAX_OPTION = 100;
const MAX_OPTIONS = 25;
const MAX_TEXT = 4_000;

/** The command word of the buttons that open a form, and of the forms themselves. */
export const FORM = 'form';

/** False if the initial text is longer than Discord allows. */
export const isShowable = ({ values = {} }: FormBegin) =>
  Object.values(values).every((value) => value.length <= MAX_TEXT);

/** The message that a form is about. */
export interface FormAbout {
  id: string;
  author: string;
  text: string;
}

/** The longest of a message that a form shows; all of it is asked about. */
const MAX_QUOTE = 1_000;

/** A command's form as Discord's modal, as it begins, and filled in with what is known already. Pure. */
export function renderForm(
  command: Command,
  known: Record<string, unknown>,
  begin: FormBegin = {},
  about?: FormAbout,
): APIModalInteractionResponseCallbackData {
  const values = { ...begin.values, ...known };
  const of = {
    ...{ of: command.name, ...carriedIn(command, known) },
    ...(about && { message: about.id }),
  };
  const inputs = inputsOf(command, known, begin);
  return {
    custom_id: encodeAction({ label: '', command: FORM, values: of }),
    title: within(command.form?.title ?? command.name, MAX_TITLE),
    components: [
      ...(about ? [quoted(about)] : []),
      ...inputs.map((field) => labelled(field, values[field.name])),
    ],
  };
}

/** Source: Discord docs, "Component Reference" (Text Display), "Modal". */
const quoted = ({ author, text }: FormAbout): APITextDisplayComponent => ({
  type: ComponentType.TextDisplay,
  content: `**${plainWithin(oneLine(author), 200) || 'Somebody'}** wrote:\n> ${plainWithin(oneLine(text), MAX_QUOTE) || '…'}`,
});

/**
 * A form of Discord does not change while it is open. So until the choice that decides about the others is made, it has what
 * any choice asks for, as far as there is room, and nothing needs to be filled in that the command does not need.
 */
function inputsOf(command: Command, values: Record<string, unknown>, begin: FormBegin): Field[] {
  const fields = fieldsOf(command);
  const decides = command.form?.chooses?.input;
  if (decides === undefined || values[decides] !== undefined) {
    return formFields(command, values, begin).slice(0, MAX_INPUTS);
  }
  const choices = fields.find(({ name }) => name === decides)?.choices ?? [];
  const shown = choices.flatMap((choice) => formFields(command, { [decides]: choice }));
  const counted = new Map<string, number>();
  for (const { name } of shown) counted.set(name, (counted.get(name) ?? 0) + 1);
  // Inputs of every choice first, then the command's order.
  const rank = (name: string) =>
    counted.get(name) === choices.length ? -1 : fields.findIndex((field) => field.name === name);
  const names = [...counted.keys()].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_INPUTS);
  return names.flatMap((name) => fields.filter((field) => field.name === name));
}

function labelled(field: Field, value: unknown): APILabelComponent {
  return {
    type: ComponentType.Label,
    label: within(capital(field.name), MAX_LABEL),
    ...(field.description === ''
      ? {}
      : { description: within(field.description, MAX_DESCRIPTION) }),
    component: componentOf(field, value),
  };
}

function componentOf(
  { name: custom_id, kind, choices, required, long = false }: Field,
  value: unknown,
): APILabelComponent['component'] {
  if (kind === 'choice' && isOffered(choices)) {
    const options = choices.map((choice) => ({
      label: within(choice, MAX_OPTION),
      value: choice,
      default: choice === value,
    }));
    return { type: ComponentType.StringSelect, custom_id, options, required };
  }
  const text = value === undefined ? '' : String(value).slice(0, MAX_TEXT);
  return {
    type: ComponentType.TextInput,
    custom_id,
    style: long ? TextInputStyle.Paragraph : TextInputStyle.Short,
    max_length: MAX_TEXT,
    required,
    ...(text === '' ? {} : { value: text }),
  };
}

/** More than that, or longer, and they are typed. */
const isOffered = (choices: readonly string[]) =>
  choices.length <= MAX_OPTIONS && choices.every((choice) => choice.length <= MAX_OPTION);

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
