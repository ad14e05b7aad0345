import { useId, useState } from 'preact/hooks';
import type { ListedKey } from '../../account/api-types.ts';
import { submitting } from '../shared/form.tsx';
import { askAccount } from './client.ts';
import { Dialog, DialogButtons, useSending } from './dialog.tsx';
import { LIMITS, type LimitName, readLimits, type TypedLimits, typedOf } from './limits.ts';
import { Name } from './parts.tsx';

/** The limits of a key to type, each with what is wrong with it. */
export function LimitFields({
  typed,
  problems,
  onType,
}: {
  typed: TypedLimits;
  problems: Partial<Record<LimitName, string>>;
  onType: (typed: TypedLimits) => void;
}) {
  const id = useId();
  return (
    <div class="limits">
      {LIMITS.map(({ name, label }) => (
        <div key={name} class="field">
          <label for={`${id}-${name}`}>{label}</label>
          <input
            id={`${id}-${name}`}
            inputMode="numeric"
            autocomplete="off"
            placeholder="No limit"
            maxLength={20}
            value={typed[name]}
            aria-invalid={problems[name] !== undefined}
            aria-describedby={`${id}-${name}-problem`}
            onInput={({ currentTarget }) => onType({ ...typed, [name]: currentTarget.value })}
          />
          <p id={`${id}-${name}-problem`} class="wrong">
            {problems[name]}
          </p>
        </div>
      ))}
    </div>
  );
}

/** Changes the limits of a key; they hold from its next request on. */
export function LimitsDialog({
  listed,
  onChanged,
  onClose,
}: {
  listed: ListedKey;
  onChanged: () => void;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState(typedOf(listed.limits));
  const [problems, setProblems] = useState<Partial<Record<LimitName, string>>>({});
  const { sending, send } = useSending();

  function change(close: () => void) {
    const read = readLimits(typed);
    setProblems('problems' in read ? read.problems : {});
    if ('problems' in read) return;
    void send(async () => {
      const path = `keys/${listed.service}/${encodeURIComponent(listed.id)}`;
      await askAccount(path, { method: 'PATCH', body: { limits: read.limits } });
      onChanged();
      close();
    });
  }

  return (
    <Dialog
      title={
        <>
          Limits of “<Name>{listed.name}</Name>”
        </>
      }
      onClose={onClose}
    >
      {(close) => (
        <form onSubmit={submitting(() => change(close))}>
          <p>
            They hold from the next request on. Minutes are any 60 seconds, days and months those of
            the UTC calendar.
          </p>
          <LimitFields typed={typed} problems={problems} onType={setTyped} />
          <DialogButtons act="Save limits" sending={sending} onCancel={close} />
        </form>
      )}
    </Dialog>
  );
}
