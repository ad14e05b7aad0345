import type { ListedKey } from '../../account/api-types.ts';
import { askAccount } from './client.ts';
import { Dialog, DialogButtons, useSending } from './dialog.tsx';
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
  const { sending, send } = useSending();
  const revoke = (close: () => void) =>
    send(async () => {
      const path = `keys/${service}/${encodeURIComponent(id)}/revoke`;
      await askAccount(path, { method: 'POST', body: {} });
      close();
      await onRevoked();
    });

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
          <DialogButtons
            act="Revoke key"
            danger
            sending={sending}
            onAct={() => void revoke(close)}
            onCancel={close}
          />
        </>
      )}
    </Dialog>
  );
}
