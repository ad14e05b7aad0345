import { useState } from 'preact/hooks';
import type { KeyList, ListedKey } from '../../account/api-types.ts';
import { LISTED_DAYS } from '../../account/spans.ts';
import { Fact } from '../shared/fact.tsx';
import { Moment } from '../shared/moment.tsx';
import { focusHeading, requestAccount, useList } from './client.ts';
import { ConfirmDialog } from './dialog.tsx';
import { LimitsDialog } from './limit-fields.tsx';
import { LIMITS } from './limits.ts';
import { NewKeyDialog } from './new-key.tsx';
import { formatDay, formatNumber, Name, Rows, Section } from './parts.tsx';

type OpenKeyDialog = { kind: 'new' } | { kind: 'limits' | 'revoke'; key: ListedKey };

/** The API keys of both services. */
export function KeysSection() {
  const { loaded, done, finish } = useList<KeyList>('keys');
  const [dialog, setDialog] = useState<OpenKeyDialog>();
  const { services = [], notices, keys = [] } = loaded.value ?? {};
  const canCreate = services.length > 0;
  const close = () => setDialog(undefined);

  async function revoke({ service, id, name }: ListedKey, closeDialog: () => void) {
    const path = `keys/${service}/${encodeURIComponent(id)}/revoke`;
    await requestAccount(path, { method: 'POST', body: {} });
    closeDialog();
    await finish(`Key “${name}” revoked. It no longer works.`);
    focusHeading();
  }

  return (
    <Section
      title="API keys"
      about="Other programs use a key to call the model gateway or the monitoring service."
      button={
        canCreate ? { text: 'New key', onClick: () => setDialog({ kind: 'new' }) } : undefined
      }
      done={done}
      loaded={loaded}
      notices={notices}
      empty={canCreate && keys.length === 0 ? NO_KEYS : undefined}
    >
      <Rows>
        {keys.map((key) => (
          <KeyRow key={`${key.service} ${key.id}`} listed={key} onOpen={setDialog} />
        ))}
      </Rows>
      {dialog?.kind === 'new' && (
        <NewKeyDialog services={services} onCreated={() => void loaded.reload()} onClose={close} />
      )}
      {dialog?.kind === 'limits' && (
        <LimitsDialog
          listed={dialog.key}
          onChanged={() => void finish(`Limits of “${dialog.key.name}” changed.`)}
          onClose={close}
        />
      )}
      {dialog?.kind === 'revoke' && (
        <ConfirmDialog
          question="Revoke"
          name={dialog.key.name}
          act="Revoke key"
          onConfirm={(closeDialog) => revoke(dialog.key, closeDialog)}
          onClose={close}
        >
          Anything that uses <code>{dialog.key.start}…</code> stops working at once. You can't
          restore a revoked key. Its past usage is kept.
        </ConfirmDialog>
      )}
    </Section>
  );
}

const NO_KEYS = {
  title: 'No keys yet',
  text: 'Create one with “New key”. It is shown only once and works right away.',
};

function KeyRow({
  listed,
  onOpen,
}: {
  listed: ListedKey;
  onOpen: (dialog: OpenKeyDialog) => void;
}) {
  const { service, start, name, createdAtMs, readOnly, used } = listed;
  return (
    <li class="key">
      <div class="who">
        <h3>
          <Name>{name}</Name>
        </h3>
        <p class="flow beside aside">
          <code>{start}…</code>
          <span class={`service ${service}`}>
            {service === 'gateway' ? 'Model gateway' : 'Monitoring'}
          </span>
          {readOnly && <span class="service">Read-only</span>}
        </p>
      </div>
      <dl>
        <Fact label="Created">
          <Moment atMs={createdAtMs} />
        </Fact>
        <Fact label="Last used">
          <LastUsed listed={listed} />
        </Fact>
        {used && (
          <Fact label={`Last ${LISTED_DAYS} days`}>
            {formatNumber(used.requests)} requests
            <br />
            {formatNumber(used.tokens)} tokens
          </Fact>
        )}
        {service === 'gateway' && (
          <Fact label="Limits">
            <LimitText listed={listed} />
          </Fact>
        )}
      </dl>
      <div class="actions">
        {service === 'gateway' && (
          <button
            type="button"
            class="plain"
            aria-label={`Limits of ${name}`}
            onClick={() => onOpen({ kind: 'limits', key: listed })}
          >
            Limits
          </button>
        )}
        <button
          type="button"
          class="plain danger"
          aria-label={`Revoke ${name}`}
          onClick={() => onOpen({ kind: 'revoke', key: listed })}
        >
          Revoke
        </button>
      </div>
    </li>
  );
}

function LastUsed({ listed: { service, lastUsedAtMs, lastUsedDay } }: { listed: ListedKey }) {
  if (lastUsedAtMs !== undefined) return <Moment atMs={lastUsedAtMs} />;
  if (lastUsedDay !== undefined)
    return <time dateTime={lastUsedDay}>{formatDay(lastUsedDay)}</time>;
  return service === 'gateway' ? <>Not in {LISTED_DAYS} days</> : <>Not since last restart</>;
}

function LimitText({ listed: { limits } }: { listed: ListedKey }) {
  const set = LIMITS.flatMap(({ name, unit }) => {
    const limit = limits[name];
    return limit === undefined ? [] : [{ name, text: `${formatNumber(limit)} ${unit}` }];
  });
  if (set.length === 0) return <>None</>;
  return (
    <>
      {set.map(({ name, text }) => (
        <span key={name} class="limit">
          {text}
        </span>
      ))}
    </>
  );
}
