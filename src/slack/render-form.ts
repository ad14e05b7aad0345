import type { types } from '@slack/bolt';
import type { Command, Field } from '../bot/command.ts';
import { formFields, withFirst } from '../bot/form.ts';
import { plainText } from './blocks.ts';
import { clip } from './text.ts';

/** Source: Slack docs, "Views" and the pages of the elements. */
const MAX_TITLE = 24;
const MAX_HINT = 2_000;
const MAX_OPTION = 75;
const MAX_TEXT = 3_000;

export const FORM = 'askwatch-form';

/** What a form carries from the command that opened it to its submission. */
export interface FormOrigin {
  command: string;
  channel: string;
  responseUrl?: string;
}

/** A command's form. Inputs that stay keep what was typed, since their blocks keep their ids. */
export function renderForm(
  command: Command,
  origin: FormOrigin,
  chosen: Record<string, unknown> = {},
): types.ModalView {
  const { form } = command;
  // `monitor add` is `Add a monitor`.
  const [thing = '', verb = ''] = command.name.split(' ');
  return {
    type: 'modal',
    callback_id: FORM,
    title: plainText(clip(`${capital(verb)} a ${thing}`, MAX_TITLE)),
    submit: plainText(clip(capital(verb), MAX_TITLE)),
    close: plainText('Cancel'),
    private_metadata: JSON.stringify(origin),
    blocks: formFields(command, chosen).map((field) => {
      const decides = form?.chooses?.input === field.name;
      return {
        type: 'input',
        block_id: field.name,
        label: plainText(labelOf(field)),
        hint: plainText(clip(field.description, MAX_HINT)),
        optional: !field.required,
        dispatch_action: decides,
        element: elementOf(field, withFirst(command, chosen)[field.name]),
      };
    }),
  };
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

const labelOf = ({ name }: Field) => capital(name);

function elementOf(field: Field, value: unknown): types.InputBlock['element'] {
  const { name: action_id, kind, choices, min, max } = field;
  if (kind === 'choice') {
    const options = choices.map(optionOf);
    const initial = options.find((option) => option.value === value);
    return {
      type: 'static_select',
      action_id,
      options,
      ...(initial && { initial_option: initial }),
    };
  }
  if (kind === 'integer') {
    return {
      type: 'number_input',
      action_id,
      is_decimal_allowed: false,
      ...(min !== undefined && { min_value: String(min) }),
      ...(max !== undefined && { max_value: String(max) }),
    };
  }
  return { type: 'plain_text_input', action_id, max_length: MAX_TEXT };
}

const optionOf = (choice: string) => ({
  text: plainText(clip(choice, MAX_OPTION)),
  value: choice,
});
