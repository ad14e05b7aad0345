import { afterTurns } from '../after-turns.ts';
import { ACK_WITHIN_MS } from './deliveries.ts';
import { blocksProblem } from './limits.ts';
import type { Answer, Arguments } from './workspace.ts';

interface Option {
  text: { text: string };
  value: string;
}

interface InputBlock {
  type: string;
  block_id: string;
  label: { text: string };
  hint?: { text: string };
  optional?: boolean;
  dispatch_action?: boolean;
  element: {
    type: string;
    action_id: string;
    options?: Option[];
    initial_option?: Option;
    is_decimal_allowed?: boolean;
    max_length?: number;
    multiline?: boolean;
    initial_value?: string;
  };
}

interface View {
  type: string;
  callback_id: string;
  title: { text: string };
  submit?: { text: string };
  private_metadata?: string;
  blocks: InputBlock[];
}

/** A form as a person sees it, with what they have filled in. */
export interface ShownForm {
  id: string;
  hash: string;
  view: View;
  values: Map<string, string>;
  /** The app's errors by block. */
  errors: Record<string, string>;
}

/** The inputs of a form; what stands between them only shows something. */
const inputsOf = ({ blocks }: View) => blocks.filter(({ type }) => type === 'input');

/** Source: Slack docs, "Views", "Input block" and the pages of its elements. */
const LIMITS = {
  title: 24,
  metadata: 3_000,
  blocks: 100,
  id: 255,
  label: 2_000,
  hint: 2_000,
  options: 100,
  optionText: 75,
  optionValue: 150,
  text: 3_000,
} as const;

/** A gesture opens one form, within three seconds. Source: Slack docs, "views.open". */
export function createForms() {
  const triggers = new Set<string>();
  const expired = new Set<string>();
  const used = new Set<string>();
  let shown: ShownForm | undefined;
  let count = 0;

  function show(view: View, id: string): Answer {
    if (viewProblem(view)) return { ok: false, error: 'invalid_arguments' };
    count += 1;
    const kept = shown?.id === id ? shown.values : new Map<string, string>();
    const values = new Map<string, string>();
    for (const { block_id: name, element } of inputsOf(view)) {
      const value = kept.get(name) ?? element.initial_option?.value ?? element.initial_value;
      if (value !== undefined) values.set(name, value);
    }
    shown = { id, hash: `${count}.hash`, view, values, errors: {} };
    return { ok: true, view: { id, hash: shown.hash } };
  }

  return {
    /** Registers a trigger that may open a form. */
    allow(trigger: string) {
      triggers.add(trigger);
      afterTurns(ACK_WITHIN_MS, () => expired.add(trigger));
    },
    expire() {
      for (const trigger of triggers) expired.add(trigger);
    },
    shown: () => shown,
    close() {
      shown = undefined;
    },
    call(method: string, args: Arguments): Answer | undefined {
      if (method === 'views.open') {
        const trigger = String(args.trigger_id);
        if (!triggers.has(trigger)) return { ok: false, error: 'invalid_trigger_id' };
        if (expired.has(trigger)) return { ok: false, error: 'expired_trigger_id' };
        if (!used.has(trigger)) used.add(trigger);
        else return { ok: false, error: 'exchanged_trigger_id' };
        return show(args.view as View, `V00FAKE${count}`);
      }
      if (method === 'views.update') {
        if (!shown || args.view_id !== shown.id) return { ok: false, error: 'not_found' };
        if (args.hash !== undefined && args.hash !== shown.hash) {
          return { ok: false, error: 'hash_conflict' };
        }
        return show(args.view as View, shown.id);
      }
      return undefined;
    },
  };
}

/** The payload of a submitted form. Source: Slack docs, "view_submission payload", "View state". */
export function formPayload({ id, hash, view, values }: ShownForm) {
  const state = Object.fromEntries(
    inputsOf(view).map(({ block_id: name, element: { action_id, type, options = [] } }) => {
      const value = values.get(name) ?? null;
      const selected_option = options.find((option) => option.value === value) ?? null;
      const given = type === 'static_select' ? { selected_option } : { value };
      return [name, { [action_id]: { type, ...given } }];
    }),
  );
  const { callback_id, private_metadata, blocks } = view;
  const shown = { callback_id, private_metadata, blocks };
  return { id, hash, ...shown, type: 'modal', state: { values: state } };
}

function viewProblem(view: View) {
  const { type, title, private_metadata = '', blocks, submit } = view;
  const inputs = inputsOf(view);
  return (
    type !== 'modal' ||
    !submit ||
    title.text.length > LIMITS.title ||
    title.text === '' ||
    private_metadata.length > LIMITS.metadata ||
    blocks.length > LIMITS.blocks ||
    new Set(inputs.map(({ block_id }) => block_id)).size < inputs.length ||
    blocks.some((block) =>
      block.type === 'input'
        ? blockProblem(block)
        : // These blocks are only for messages.
          block.type === 'context_actions' || blocksProblem([block]) !== undefined,
    )
  );
}

function blockProblem({ block_id, label, hint, element }: InputBlock): boolean {
  const { options = [], initial_option: initial, is_decimal_allowed: decimal } = element;
  const { initial_value: text = '', max_length: maxLength = LIMITS.text } = element;
  const isInput = ['plain_text_input', 'number_input', 'static_select', 'checkboxes'];
  return (
    block_id.length > LIMITS.id ||
    label.text === '' ||
    label.text.length > LIMITS.label ||
    (hint?.text.length ?? 0) > LIMITS.hint ||
    !isInput.includes(element.type) ||
    (element.type === 'number_input' && typeof decimal !== 'boolean') ||
    maxLength > LIMITS.text ||
    text.length > maxLength ||
    (element.type === 'static_select' &&
      (options.length === 0 || options.length > LIMITS.options)) ||
    options.some(
      ({ text, value }) =>
        text.text.length > LIMITS.optionText || value.length > LIMITS.optionValue,
    ) ||
    (initial !== undefined &&
      !options.some((one) => JSON.stringify(one) === JSON.stringify(initial)))
  );
}
