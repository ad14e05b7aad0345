import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Problem, submitting } from '../../shared/form.tsx';
import { sentenceOf } from '../../shared/requests.ts';

export function InlineName(props: {
  label: string;
  value: string;
  /** Throws an `Error` with a sentence to show. */
  onSave: (name: string) => Promise<unknown>;
  onDone: () => void;
}) {
  const { label, value, onSave, onDone } = props;
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState('');

  // A layout effect, so that the next key already goes to the input.
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);

  async function save() {
    const name = input.current?.value.trim() ?? '';
    if (name === '' || name === value) return onDone();
    try {
      await onSave(name);
      onDone();
    } catch (error) {
      setProblem(sentenceOf(error));
      input.current?.focus();
    }
  }

  return (
    <form
      class="inline-name"
      onSubmit={submitting(() => void save())}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onDone();
      }}
    >
      <div>
        <input
          ref={input}
          aria-label={label}
          aria-invalid={problem !== ''}
          autoComplete="off"
          maxLength={80}
          defaultValue={value}
        />
        <button type="submit" class="filled">
          Save
        </button>
      </div>
      <Problem text={problem} />
    </form>
  );
}
