import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Problem } from '../shared/form.tsx';
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

/** Sends something once, however often it is asked to; what went wrong can be sent again. */
export function useSending() {
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const sending = useRef(false);
  async function send(act: () => Promise<void>) {
    // A state would be seen with the next drawing only; a second click may come before.
    if (sending.current) return;
    sending.current = true;
    setBusy(true);
    setProblem('');
    try {
      await act();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
      sending.current = false;
    }
  }
  return { sending: { problem, busy }, send };
}

/** The end of a dialog: what went wrong, and the buttons. The one that acts takes no second press while the first is under way. */
export function DialogButtons({
  act,
  sending: { problem, busy },
  danger = false,
  onAct,
  onCancel,
}: {
  act: string;
  sending: ReturnType<typeof useSending>['sending'];
  danger?: boolean;
  /** Absent where the button sends the form. */
  onAct?: () => void;
  onCancel: () => void;
}) {
  return (
    <>
      <Problem text={problem} />
      <div class="dialog-buttons flow">
        <button type="button" class="plain" onClick={onCancel}>
          Cancel
        </button>
        <button
          type={onAct ? 'button' : 'submit'}
          class={danger ? 'main danger' : 'main'}
          aria-disabled={busy}
          onClick={onAct}
        >
          {act}
        </button>
      </div>
    </>
  );
}
