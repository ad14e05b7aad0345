import { useEffect, useId, useRef } from 'preact/hooks';
import type { Field } from '../../../shared/api-types.ts';

export function FormField(props: {
  field: Field;
  value: string;
  problem: string | undefined;
  onChange: (value: string) => void;
}) {
  const { field, value, problem, onChange } = props;
  const { name, description, required } = field;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {name.charAt(0).toUpperCase() + name.slice(1)}
        {!required && <span> optional</span>}
      </label>
      <Input
        field={field}
        value={value}
        onChange={onChange}
        attributes={{
          id,
          name,
          autoComplete: 'off',
          'aria-required': required,
          'aria-invalid': problem !== undefined,
          'aria-describedby': `${id}-about`,
        }}
      />
      <p id={`${id}-about`} class={problem === undefined ? 'about minor' : 'problem'}>
        {problem ?? description}
      </p>
    </div>
  );
}

/** The server checks types and limits, with the same sentences on all platforms. */
function Input(props: {
  field: Field;
  value: string;
  onChange: (value: string) => void;
  attributes: Record<string, string | boolean>;
}) {
  const { field, value, onChange, attributes } = props;
  const choices = field.kind === 'boolean' ? ['true', 'false'] : field.choices;
  if (field.kind === 'choice' || field.kind === 'boolean') {
    return (
      <select
        {...attributes}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {(!field.required || !choices.includes(value)) && (
          <option value={choices.includes(value) ? '' : value}>
            {choices.includes(value) ? '' : value}
          </option>
        )}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  }
  if (field.long) return <LongText value={value} onChange={onChange} attributes={attributes} />;
  return (
    <input
      {...attributes}
      inputMode={field.kind === 'integer' ? 'numeric' : 'text'}
      value={value}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** A text area that grows with its text; the stylesheet limits it. */
function LongText(props: {
  value: string;
  onChange: (value: string) => void;
  attributes: Record<string, string | boolean>;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!area.current) return;
    area.current.style.height = 'auto';
    area.current.style.height = `${area.current.scrollHeight + 2}px`;
  }, [props.value]);
  return (
    <textarea
      ref={area}
      rows={4}
      {...props.attributes}
      value={props.value}
      onInput={({ currentTarget }) => props.onChange(currentTarget.value)}
    />
  );
}
