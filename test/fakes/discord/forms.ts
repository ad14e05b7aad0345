import { ComponentType } from 'discord.js';
import { type Refusal, refusal } from './limits.ts';

/** An input of a form. */
export interface FakeFormInput {
  type: number;
  custom_id: string;
  required?: boolean;
  /** 2: several lines. */
  style?: number;
  value?: string;
  max_length?: number;
  options?: Array<{ label: string; value: string; default?: boolean }>;
}

/** A form as it is open before a person. */
export interface FakeForm {
  custom_id: string;
  title: string;
  components: Array<{
    type: number;
    label: string;
    description?: string;
    component: FakeFormInput;
    /** Text that is only shown. */
    content?: string;
  }>;
}

const isShownOnly = ({ type }: { type: number }) => type === ComponentType.TextDisplay;

/** Validates a form. Source: Discord docs, "Modal", and "Component Reference" (Label, String Select, Text Input). */
export function checkForm({ custom_id = '', title = '', components = [] }: Partial<FakeForm>) {
  const wrong = problems(custom_id, title, components).find(([isWrong]) => isWrong);
  return wrong && invalid(wrong[1]);
}

function problems(
  custom_id: string,
  title: string,
  components: FakeForm['components'],
): Array<[boolean, string]> {
  const labels = components.filter((one) => !isShownOnly(one));
  const ids = labels.map(({ component }) => component?.custom_id);
  const texts = components.filter(isShownOnly).map(({ content = '' }) => content);
  return [
    [texts.some((text) => text.length < 1 || text.length > 4_000), 'content: 1 to 4000'],
    [custom_id.length < 1 || custom_id.length > 100, 'custom_id: 1 to 100'],
    [title.length < 1 || title.length > 45, 'title: 1 to 45'],
    [components.length < 1 || components.length > 5, 'components: 1 to 5'],
    [new Set(ids).size < ids.length, 'custom_id cannot be duplicated'],
    ...labels.flatMap(
      ({ type, label, description, component }): Array<[boolean, string]> => [
        [type !== ComponentType.Label, 'this fake knows labels only'],
        [label.length < 1 || label.length > 45, 'label: 1 to 45'],
        [
          (description ?? 'x').length < 1 || (description ?? '').length > 100,
          'description: 1 to 100',
        ],
        ...inputProblems(component),
      ],
    ),
  ];
}

function inputProblems(input: FakeFormInput): Array<[boolean, string]> {
  const { type, custom_id, value, max_length = 4_000, options = [] } = input;
  const isSelect = type === ComponentType.StringSelect;
  return [
    [!isSelect && type !== ComponentType.TextInput, 'this fake knows texts and selects only'],
    [custom_id.length < 1 || custom_id.length > 100, 'custom_id: 1 to 100'],
    [max_length < 1 || max_length > 4_000, 'max_length: 1 to 4000'],
    [value !== undefined && (value.length < 1 || value.length > max_length), 'value: 1 to max'],
    [isSelect && (options.length < 1 || options.length > 25), 'options: 1 to 25'],
    [options.filter((one) => one.default).length > 1, 'at most one default'],
  ];
}

const invalid = (what: string): Refusal => refusal(400, 50_035, `Invalid Form Body: ${what}`);

/** Submits a form with changed inputs. Like Discord's client, it keeps values, requires required inputs and offered choices. */
export function sentForm(form: FakeForm, typed: Record<string, string>) {
  const unknown = Object.keys(typed).find(
    (name) => !form.components.some(({ component }) => component?.custom_id === name),
  );
  if (unknown !== undefined) throw new Error(`The form has no input ${unknown}`);
  return {
    custom_id: form.custom_id,
    components: form.components.map(({ type, component }, index) =>
      isShownOnly({ type })
        ? { type, id: index + 1 }
        : {
            type,
            id: index + 1,
            component: { ...sentInput(component, typed[component.custom_id]), id: index + 101 },
          },
    ),
  };
}

function sentInput(input: FakeFormInput, typed: string | undefined) {
  const { type, custom_id, required = true, max_length = 4_000, options } = input;
  const given = typed ?? shownIn(input);
  if (required && given === '') throw new Error(`The form needs ${custom_id}`);
  if (given.length > max_length) throw new Error(`The form takes no more of ${custom_id}`);
  if (!options) return { type, custom_id, value: given };
  if (given !== '' && !options.some(({ value }) => value === given)) {
    throw new Error(`The form offers no ${custom_id} ${given}`);
  }
  return { type, custom_id, values: given === '' ? [] : [given] };
}

/** The initial value of an input. */
export const shownIn = ({ value, options }: FakeFormInput): string =>
  value ?? options?.find((option) => option.default)?.value ?? '';
