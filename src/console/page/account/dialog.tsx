import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Problem, submitting } from '../shared/form.tsx';
import { sentenceOf } from '../shared/requests.ts';

/**
 * A dialog over the page. Whatever closes it, the focus goes back to where it came from, and then `onClose` is called.
 * While `holds`, Escape leaves it open.
 */
export function Dialog({
  title,
  holds = false,
  onClose,
  children,
}: {
  title: ComponentChildren;
  holds?: boolean;
  onClose: () => void;
  children: (close: () => void) => ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={(event) => {
        if (holds) event.preventDefault();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  );
}

/** Asks what is to be made, and shows what was made once: when it is closed, nothing here has that any more. */
export function MakeDialog<T>({
  title,
  madeTitle,
  form,
  view,
  onMade,
  onClose,
}: {
  title: string;
  madeTitle: string;
  form: (made: (one: T) => void, close: () => void) => ComponentChildren;
  view: (one: T, close: () => void) => ComponentChildren;
  onMade: () => void;
  onClose: () => void;
}) {
  const [made, setMade] = useState<T>();
  useEffect(() => {
    // A page that a browser keeps to go back to must not show it again.
    const forget = () => setMade(undefined);
    addEventListener('pagehide', forget);
    return () => removeEventListener('pagehide', forget);
  }, []);
  function show(one: T) {
    setMade(() => one);
    onMade();
  }
  return (
    <Dialog
      title={made === undefined ? title : madeTitle}
      holds={made !== undefined}
      onClose={onClose}
    >
      {(close) => (made === undefined ? form(show, close) : view(made, close))}
    </Dialog>
  );
}

/**
 * What a dialog asks for, and its buttons. `onAct` gives what there is to do, or nothing while something is wrong; it is
 * done once, however often it is asked for, and what went wrong can be tried again.
 */
export function DialogForm({
  act,
  danger = false,
  onAct,
  onCancel,
  children,
}: {
  act: string;
  danger?: boolean;
  onAct: () => (() => Promise<void>) | undefined;
  onCancel: () => void;
  children: ComponentChildren;
}) {
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const sending = useRef(false);

  async function send() {
    // A state would be seen with the next drawing only; a second click may come before.
    if (sending.current) return;
    const todo = onAct();
    if (!todo) return;
    sending.current = true;
    setBusy(true);
    setProblem('');
    try {
      await todo();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
      sending.current = false;
    }
  }

  return (
    <form onSubmit={submitting(() => void send())}>
      {children}
      <Problem text={problem} />
      <div class="dialog-buttons flow">
        <button type="button" class="plain" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class={danger ? 'main danger' : 'main'} aria-disabled={busy}>
          {act}
        </button>
      </div>
    </form>
  );
}

/** A line to type into, with its label and what is wrong with it. */
export function Field({
  label,
  value,
  problem,
  onType,
  ...more
}: {
  label: string;
  value: string;
  problem: string | undefined;
  onType: (text: string) => void;
} & InputHTMLAttributes) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        autocomplete="off"
        value={value}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
        {...more}
      />
      <p id={`${id}-problem`} class="wrong">
        {problem}
      </p>
    </div>
  );
}
