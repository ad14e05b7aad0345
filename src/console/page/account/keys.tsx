import { useRef, useState } from 'preact/hooks';
import type { KeyList, ListedKey } from '../../account/api-types.ts';
import { LISTED_DAYS } from '../../account/spans.ts';
import { Fact } from '../shared/fact.tsx';
import { Moment } from '../shared/moment.tsx';
import { askAccount, useLoaded } from './client.ts';
import { Dialog, DialogForm } from './dialog.tsx';
import { LimitsDialog } from './limit-fields.tsx';
import { LIMITS } from './limits.ts';
import { NewKeyDialog } from './new-key.tsx';
import { Empty, formatDay, formatNumber, Name, Notice, SectionHead, Waiting } from './parts.tsx';

type Opened = { kind: 'new' } | { kind: 'limits' | 'revoke'; key: ListedKey };

/** The keys of the two services. */
export function KeysSection() {
  const loaded = useLoaded<KeyList>('keys');
  const [opened, setOpened] = useState<Opened>();
  const [done, setDone] = useState('');
  const section = useRef<HTMLElement>(null);
  const { value } = loaded;

  async function after(text: string) {
    await loaded.reload();
    setDone(text);
  }

  const canMake = (value?.services.length ?? 0) > 0;
  return (
    <section ref={section}>
      <SectionHead
        title="API keys"
        about="Other programs use a key to call the model gateway or the monitoring service."
      >
        {canMake && (
          <button type="button" class="main" onClick={() => setOpened({ kind: 'new' })}>
            New key
          </button>
        )}
      </SectionHead>
      <p class="done" role="status">
        {done}
      </p>
      <Waiting loaded={loaded} />
      {value?.notices.map((notice) => (
        <Notice key={notice}>{notice}</Notice>
      ))}
      {value && canMake && value.keys.length === 0 && (
        <Empty title="No keys yet">
          <p>Create one with “New key”. It is shown only once and works right away.</p>
        </Empty>
      )}
      {value && value.keys.length > 0 && (
        <ul class="rows framed">
          {value.keys.map((key) => (
            <KeyRow key={`${key.service} ${key.id}`} listed={key} onOpen={setOpened} />
          ))}
        </ul>
      )}
      {opened?.kind === 'new' && value && (
        <NewKeyDialog
          services={value.services}
          onMade={() => void loaded.reload()}
          onClose={() => setOpened(undefined)}
        />
      )}
      {opened?.kind === 'limits' && (
        <LimitsDialog
          listed={opened.key}
          onChanged={() => void after(`Limits of “${opened.key.name}” changed.`)}
          onClose={() => setOpened(undefined)}
        />
      )}
      {opened?.kind === 'revoke' && (
        <RevokeDialog
          listed={opened.key}
          onRevoked={async () => {
            await after(`Key “${opened.key.name}” revoked. It no longer works.`);
            // The button that led here is gone with its key.
            section.current?.querySelector('h2')?.focus();
          }}
          onClose={() => setOpened(undefined)}
        />
      )}
    </section>
  );
}

function KeyRow({ listed, onOpen }: { listed: ListedKey; onOpen: (opened: Opened) => void }) {
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

/** Asks before a key is refused for good. */
function RevokeDialog({
  listed: { service, id, name, start },
  onRevoked,
  onClose,
}: {
  listed: ListedKey;
  onRevoked: () => Promise<void>;
  onClose: () => void;
}) {
  async function revoke(close: () => void) {
    const path = `keys/${service}/${encodeURIComponent(id)}/revoke`;
    await askAccount(path, { method: 'POST', body: {} });
    close();
    await onRevoked();
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
        <DialogForm act="Revoke key" danger onAct={() => () => revoke(close)} onCancel={close}>
          <p>
            Anything that uses <code>{start}…</code> stops working at once. You can't restore a
            revoked key. Its past usage is kept.
          </p>
        </DialogForm>
      )}
    </Dialog>
  );
}
