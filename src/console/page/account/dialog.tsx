import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { CopyButton } from '../shared/copy-button.tsx';
import { Problem, submitting } from '../shared/form.tsx';
import { sentenceOf } from '../shared/requests.ts';
import { Name } from './parts.tsx';

/** A modal dialog. When it closes, the focus returns to where it was, and `onClose` is called. */
export function Dialog(props: {
  title: ComponentChildren;
  /** Escape doesn't close it. */
  isKept?: boolean;
  onClose: () => void;
  children: (close: () => void) => ComponentChildren;
}) {
  const { title, isKept = false, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={(event) => {
        if (isKept) event.preventDefault();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  );
}

export function ConfirmDialog(props: {
  /** A verb, in front of the name. */
  question: string;
  name: string;
  act: string;
  onConfirm: (close: () => void) => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { question, name, act, onConfirm, onClose, children } = props;
  const title = (
    <>
      {question} “<Name>{name}</Name>”?
    </>
  );
  return (
    <Dialog title={title} onClose={onClose}>
      {(close) => (
        <DialogForm act={act} danger onAct={() => () => onConfirm(close)} onCancel={close}>
          <p>{children}</p>
        </DialogForm>
      )}
    </Dialog>
  );
}

/** Shows a form, and then once what it created, which holds a secret. After that the page no longer has it. */
export function CreateDialog<T>(props: {
  title: string;
  createdTitle: string;
  doneText: string;
  form: (onCreated: (created: T) => void, close: () => void) => ComponentChildren;
  view: (created: T) => ComponentChildren;
  onCreated: () => void;
  onClose: () => void;
}) {
  const { title, createdTitle, doneText, form, view, onCreated, onClose } = props;
  const [created, setCreated] = useState<T>();
  useEffect(() => {
    // The browser may keep the page to go back to, which must not show the secret again.
    const forget = () => setCreated(undefined);
    addEventListener('pagehide', forget);
    return () => removeEventListener('pagehide', forget);
  }, []);
  function show(one: T) {
    setCreated(() => one);
    onCreated();
  }
  const isCreated = created !== undefined;
  return (
    <Dialog title={isCreated ? createdTitle : title} isKept={isCreated} onClose={onClose}>
      {(close) =>
        isCreated ? (
          <div class="made">
            {view(created)}
            <div class="dialog-buttons flow">
              <button type="button" class="main" onClick={close}>
                {doneText}
              </button>
            </div>
          </div>
        ) : (
          form(show, close)
        )
      }
    </Dialog>
  );
}

/**
 * A form with its buttons. `onAct` returns the action, or nothing while a field is wrong. The action runs once at a time,
 * and can be tried again after an error.
 */
export function DialogForm(props: {
  act: string;
  danger?: boolean;
  onAct: () => (() => Promise<void>) | undefined;
  onCancel: () => void;
  children: ComponentChildren;
}) {
  const { act, danger = false, onAct, onCancel, children } = props;
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const sending = useRef(false);

  async function send() {
    // A second click may come before the state is rendered.
    if (sending.current) return;
    const action = onAct();
    if (!action) return;
    sending.current = true;
    setBusy(true);
    setProblem('');
    try {
      await action();
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

export function Field({
  label,
  value,
  problem,
  onType,
  ...more
}: {
  label: string;
  value: string;
  problem?: string;
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

export function Example({ name, children: text }: { name: string; children: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: these are no fields of a form.
    <div class="example framed" role="group" aria-label={name}>
      <CopyButton text={text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
