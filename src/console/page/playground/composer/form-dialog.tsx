import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Card, InteractionOutcome, ShownForm } from '../../../shared/api-types.ts';
import { submitting } from '../../shared/form.tsx';
import { CloseIcon } from '../../shared/icons.tsx';
import { sentenceOf } from '../../shared/requests.ts';
import { CardView } from '../messages/card-view.tsx';
import { FormField } from './form-field.tsx';

const INPUTS = 'input, select, textarea';

/** A command's form over the page. It closes once the command has succeeded, or by Escape. */
export function FormDialog(props: {
  form: ShownForm;
  /** Throws an `Error` with a sentence to show. */
  onSend: (values: Record<string, string>) => Promise<InteractionOutcome>;
  onClose: () => void;
}) {
  const { form, onSend, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState(form.values);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [refusal, setRefusal] = useState<Card>();
  const [failure, setFailure] = useState('');
  const [sending, setSending] = useState(false);
  const titleId = useId();

  // The focus goes to the first required input that is empty, otherwise to the first input.
  useEffect(() => {
    dialog.current?.showModal();
    const inputs = [...(dialog.current?.querySelectorAll<HTMLInputElement>(INPUTS) ?? [])];
    const empty = inputs.find((one) => one.value === '' && one.ariaRequired === 'true');
    (empty ?? inputs[0])?.focus();
  }, []);
  // The focus goes to the first mistake.
  useEffect(() => {
    dialog.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problems]);

  const chosen = form.decides === undefined ? '' : (values[form.decides] ?? '');
  const fields = form.fields[chosen] ?? Object.values(form.fields)[0] ?? [];

  async function send() {
    if (sending) return;
    setSending(true);
    setFailure('');
    setRefusal(undefined);
    try {
      const filled = Object.fromEntries(fields.map(({ name }) => [name, values[name] ?? '']));
      const outcome = await onSend({ ...filled, ...form.carried });
      setProblems(outcome.shown === 'problems' ? outcome.problems : {});
      if (outcome.shown === 'refused') setRefusal(outcome.card);
      else if (outcome.shown !== 'problems') dialog.current?.close();
    } catch (error) {
      setFailure(sentenceOf(error));
    }
    setSending(false);
  }

  return (
    <dialog ref={dialog} class="form-dialog" aria-labelledby={titleId} onClose={onClose}>
      <form noValidate onSubmit={submitting(() => void send())}>
        <div class="bar beside">
          <h2 id={titleId}>{form.title}</h2>
          <button
            type="button"
            class="close square"
            aria-label="Close the form"
            onClick={() => dialog.current?.close()}
          >
            <CloseIcon />
          </button>
        </div>
        <div class="form-body">
          {fields.map((field) => (
            <FormField
              key={field.name}
              field={field}
              value={values[field.name] ?? ''}
              problem={problems[field.name]}
              onChange={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
        </div>
        <div class="form-foot flow">
          <div role="alert">
            {failure !== '' && <p class="problem">{failure}</p>}
            {refusal && <CardView card={withoutButtons(refusal)} onPress={async () => undefined} />}
          </div>
          <button type="button" class="plain" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="main" aria-disabled={sending}>
            {form.send}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** The form has its own buttons. */
function withoutButtons({ tone, title, parts }: Card): Card {
  return { tone, title, parts };
}
