import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

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

/** The buttons at the end of a dialog; the one that acts takes no second press while the first is under way. */
export function DialogButtons({
  act,
  busy,
  danger = false,
  onAct,
  onCancel,
}: {
  act: string;
  busy: boolean;
  danger?: boolean;
  /** Absent where the button sends the form. */
  onAct?: () => void;
  onCancel: () => void;
}) {
  return (
    <div class="dialog-buttons">
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
  );
}
