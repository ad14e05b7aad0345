import { useState } from 'preact/hooks';
import type { ListedKey } from '../../account/api-types.ts';
import { requestAccount } from './client.ts';
import { Dialog, DialogForm, Field } from './dialog.tsx';
import { LIMITS, type LimitName, readLimits, type TypedLimits, typedOf } from './limits.ts';
import { Name } from './parts.tsx';

export function LimitFields(props: {
  typed: TypedLimits;
  problems: Partial<Record<LimitName, string>>;
  onType: (typed: TypedLimits) => void;
}) {
  const { typed, problems, onType } = props;
  return (
    <div class="limits">
      {LIMITS.map(({ name, label }) => (
        <Field
          key={name}
          label={label}
          value={typed[name]}
          problem={problems[name]}
          onType={(text) => onType({ ...typed, [name]: text })}
          inputMode="numeric"
          placeholder="No limit"
          maxLength={20}
        />
      ))}
    </div>
  );
}

export function LimitsDialog(props: {
  listed: ListedKey;
  onChanged: () => void;
  onClose: () => void;
}) {
  const { listed, onChanged, onClose } = props;
  const [typed, setTyped] = useState(typedOf(listed.limits));
  const [problems, setProblems] = useState<Partial<Record<LimitName, string>>>({});

  function change(close: () => void) {
    const read = readLimits(typed);
    setProblems('problems' in read ? read.problems : {});
    if ('problems' in read) return undefined;
    return async () => {
      const path = `keys/${listed.service}/${encodeURIComponent(listed.id)}`;
      await requestAccount(path, { method: 'PATCH', body: { limits: read.limits } });
      onChanged();
      close();
    };
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
        <DialogForm act="Save limits" onAct={() => change(close)} onCancel={close}>
          <p>
            Limits apply from the next request. A minute is any 60 seconds; days and months follow
            the UTC calendar.
          </p>
          <LimitFields typed={typed} problems={problems} onType={setTyped} />
        </DialogForm>
      )}
    </Dialog>
  );
}
