import { useState } from 'preact/hooks';
import type { ListedKey } from '../../account/api-types.ts';
import { askAccount, sentenceOf } from './client.ts';
import { Dialog, DialogButtons } from './dialog.tsx';
import { Name } from './parts.tsx';

/** Asks before a key is refused for good. */
export function RevokeDialog({
  listed: { service, id, name, start },
  onRevoked,
  onClose,
}: {
  listed: ListedKey;
  onRevoked: () => Promise<void>;
  onClose: () => void;
}) {
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);

  async function revoke(close: () => void) {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      const path = `keys/${service}/${encodeURIComponent(id)}/revoke`;
      await askAccount(path, { method: 'POST', body: {} });
      close();
      await onRevoked();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  }

  return (
    <Dialog
      title={
        <>
          Revoke “<Name>{name}</Name>”?
        </>
      }
      onClose={onClose}
    >
      {(close) => (
        <>
          <p>
            Whatever uses <code>{start}…</code> is refused at once. A revoked key does not come
            back; what it has used stays counted.
          </p>
          {problem !== '' && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <DialogButtons
            act="Revoke key"
            danger
            busy={busy}
            onAct={() => void revoke(close)}
            onCancel={close}
          />
        </>
      )}
    </Dialog>
  );
}
