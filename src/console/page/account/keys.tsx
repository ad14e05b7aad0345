import { useState } from 'preact/hooks';
import type { CreatedKey, KeyList, ListedKey } from '../../account/api-types.ts';
import { LISTED_DAYS } from '../../account/spans.ts';
import { Fact } from '../shared/fact.tsx';
import { Moment } from '../shared/moment.tsx';
import { focusHeading, requestAccount, useList } from './client.ts';
import { ConfirmDialog, CreateDialog } from './dialog.tsx';
import { LimitsDialog } from './limit-fields.tsx';
import { LIMITS } from './limits.ts';
import { CreatedKeyView, NewKeyForm } from './new-key.tsx';
import { formatDay, formatNumber, NamedRow, Rows, Section } from './parts.tsx';

type OpenKeyDialog = { kind: 'new' } | { kind: 'limits' | 'revoke'; key: ListedKey };

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
      about={
        <>
          Other programs use a key to call the model gateway or the monitoring service. See{' '}
          <a href="/docs">what they can request</a>.
        </>
      }
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
        <CreateDialog<CreatedKey>
          title="New key"
          createdTitle="Copy your key now"
          doneText="Done, I've saved it"
          form={(show, cancel) => (
            <NewKeyForm services={services} onCreated={show} onCancel={cancel} />
          )}
          view={(created) => <CreatedKeyView created={created} />}
          onCreated={() => void loaded.reload()}
          onClose={close}
        />
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

function KeyRow(props: { listed: ListedKey; onOpen: (dialog: OpenKeyDialog) => void }) {
  const { listed, onOpen } = props;
  const { service, start, name, createdAtMs, readOnly, used } = listed;
  const open = (kind: 'limits' | 'revoke') => () => onOpen({ kind, key: listed });
  const limits = { text: 'Limits', label: `Limits of ${name}`, onClick: open('limits') };
  const revoke = { text: 'Revoke', label: `Revoke ${name}`, danger: true, onClick: open('revoke') };
  const isGateway = service === 'gateway';
  return (
    <NamedRow
      name={name}
      tags={
        <>
          <code>{start}…</code>
          <span class={`service pill ${service}`}>
            {isGateway ? 'Model gateway' : 'Monitoring'}
          </span>
          {readOnly && <span class="pill">Read-only</span>}
        </>
      }
      buttons={isGateway ? [limits, revoke] : [revoke]}
    >
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
      {isGateway && (
        <Fact label="Limits">
          <LimitText listed={listed} />
        </Fact>
      )}
    </NamedRow>
  );
}

function LastUsed({ listed: { service, lastUsedAtMs, lastUsedDay } }: { listed: ListedKey }) {
  if (lastUsedAtMs !== undefined) return <Moment atMs={lastUsedAtMs} />;
  if (lastUsedDay !== undefined)
    return <time dateTime={lastUsedDay}>{formatDay(lastUsedDay)}</time>;
  return service === 'gateway' ? <>Not in {LISTED_DAYS} days</> : <>Not since last restart</>;
}

function LimitText({ listed: { limits } }: { listed: ListedKey }) {
  const set = LIMITS.filter(({ name }) => limits[name] !== undefined);
  if (set.length === 0) return <>None</>;
  return (
    <>
      {set.map(({ name, unit }) => (
        <span key={name} class="limit">
          {formatNumber(limits[name] ?? 0)} {unit}
        </span>
      ))}
    </>
  );
}
