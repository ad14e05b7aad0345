import type { types } from '@slack/bolt';
import type { Command, Field, FormBegin } from '../../bot/commands/command.ts';
import { formFields, withFirst } from '../../bot/commands/form.ts';
import { channelElement, plainText, section } from './blocks.ts';
import { clip, plain } from './text.ts';

/** Source: Slack docs, "Views" and the pages of the elements. */
const MAX_TITLE = 24;
const MAX_HINT = 2_000;
const MAX_OPTION = 75;
const MAX_OPTIONS = 100;
const MAX_TEXT = 3_000;
export const FORM = 'askwatch-form';

/** The data that a form carries from its command to its submission. */
export interface FormOrigin {
  command: string;
  channel: string;
  responseUrl?: string;
  /** It was opened in somebody's home, not in the channel. */
  home?: boolean;
  /** The message that it is about, but for what that says: the form shows it. */
  about?: AboutOrigin;
  /** The thread of the button that opened the form. */
  thread?: string;
  /** Values from that button. */
  carried?: Record<string, string>;
}

export interface AboutOrigin {
  ts: string;
  /** The thread that the message is in, or the one under it. */
  thread?: string;
  author: string;
  /** Looked up again by their ids. */
  files?: Array<{ id: string; name: string }>;
}

/** The block with the quoted message. */
export const ABOUT_BLOCK = 'askwatch-about';

/** False if the initial text is longer than Slack allows. */
export const isShowable = ({ values = {} }: FormBegin) =>
  Object.values(values).every((value) => value.length <= MAX_TEXT);

/** Inputs keep their typed values when the form changes, since their blocks keep their ids. */
export function renderForm(
  command: Command,
  origin: FormOrigin,
  {
    begin = {},
    chosen = {},
    about,
  }: { begin?: FormBegin; chosen?: Record<string, unknown>; about?: string } = {},
): types.ModalView {
  const { form } = command;
  const known = { ...chosen, ...origin.carried };
  const values = withFirst(command, { ...begin.values, ...known });
  const inputs = formFields(command, known, begin).map(
    (field): types.InputBlock => ({
      type: 'input',
      block_id: field.name,
      label: plainText(capital(field.name)),
      hint: plainText(clip(field.description, MAX_HINT)),
      optional: !field.required,
      dispatch_action: form?.chooses?.input === field.name,
      element: elementOf(field, values[field.name], begin.values?.[field.name]),
    }),
  );
  return {
    type: 'modal',
    callback_id: FORM,
    title: plainText(clip(form?.title ?? command.name, MAX_TITLE)),
    submit: plainText(clip(form?.send ?? 'Send', MAX_TITLE)),
    close: plainText('Cancel'),
    private_metadata: JSON.stringify(origin),
    blocks: [
      ...(origin.home ? [section([channelElement(origin.channel)])] : []),
      ...(about === undefined ? [] : [quoteOf(about)]),
      ...inputs,
    ],
  };
}

const quoteOf = (text: string): types.RichTextBlock => ({
  type: 'rich_text',
  block_id: ABOUT_BLOCK,
  elements: [
    { type: 'rich_text_quote', elements: [{ type: 'text', text: plain(text).trim() || '…' }] },
  ],
});

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** Slack keeps typed text, so `first` is only the initial value. */
function elementOf(field: Field, value: unknown, first = ''): types.InputBlock['element'] {
  const { name: action_id, kind, choices, min, max, long = false } = field;
  const initialText = first === '' ? {} : { initial_value: first };
  if (kind === 'choice' && isOffered(choices)) {
    const options = choices.map(optionOf);
    const initial = options.find((option) => option.value === value);
    return {
      type: 'static_select',
      action_id,
      options,
      initial_option: initial,
    };
  }
  if (kind === 'integer') {
    return {
      type: 'number_input',
      action_id,
      is_decimal_allowed: false,
      ...initialText,
      ...(min !== undefined && { min_value: String(min) }),
      ...(max !== undefined && { max_value: String(max) }),
    };
  }
  return {
    type: 'plain_text_input',
    action_id,
    multiline: long,
    max_length: MAX_TEXT,
    ...initialText,
  };
}

/** False if the choices must be typed, because Slack can't show them all in full. */
const isOffered = (choices: string[]) =>
  choices.length <= MAX_OPTIONS && choices.every((choice) => choice.length <= MAX_OPTION);

const optionOf = (choice: string) => ({ text: plainText(choice), value: choice });
