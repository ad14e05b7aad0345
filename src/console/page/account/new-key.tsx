import { useEffect, useRef, useState } from 'preact/hooks';
import type { MadeKey, ModelsAnswer, ServiceName } from '../../account/api-types.ts';
import { CopyButton } from '../shared/copy-button.tsx';
import { publicAddress } from '../shared/public-address.ts';
import { randomId } from '../shared/random-id.ts';
import { askAccount, RefusedError } from './client.ts';
import { DialogForm, Field, MakeDialog } from './dialog.tsx';
import { curlFor, mcpServersFor } from './example.ts';
import { Example } from './example-lines.tsx';
import { LimitFields } from './limit-fields.tsx';
import { type LimitName, readLimits, typedOf, withoutNone } from './limits.ts';
import { Name } from './parts.tsx';

const SERVICES: Record<ServiceName, { name: string; about: string }> = {
  gateway: {
    name: 'Model gateway',
    about: 'Send requests to models with any OpenAI-compatible client',
  },
  monitoring: { name: 'Monitoring service', about: 'Create and read monitors' },
};

/** Asks what the key is for, makes it, and shows it once: when the dialog is closed, nothing here has it any more. */
export function NewKeyDialog({
  services,
  onMade,
  onClose,
}: {
  services: readonly ServiceName[];
  onMade: () => void;
  onClose: () => void;
}) {
  return (
    <MakeDialog<MadeKey>
      title="New key"
      madeTitle="Copy your key now"
      form={(made, close) => <NewKeyForm services={services} onMade={made} onCancel={close} />}
      view={(made, close) => <MadeKeyView made={made} onDone={close} />}
      onMade={onMade}
      onClose={onClose}
    />
  );
}

function NewKeyForm({
  services,
  onMade,
  onCancel,
}: {
  services: readonly ServiceName[];
  onMade: (made: MadeKey) => void;
  onCancel: () => void;
}) {
  const [service, setService] = useState<ServiceName>(services[0] ?? 'gateway');
  const [name, setName] = useState('');
  const [typed, setTyped] = useState(typedOf({}));
  const [canWrite, setCanWrite] = useState(false);
  const [problems, setProblems] = useState<Partial<Record<LimitName | 'name', string>>>({});
  const creationId = useRef(randomId());

  function create() {
    const read = service === 'gateway' ? readLimits(typed) : { limits: undefined };
    const wrong = {
      ...('problems' in read && read.problems),
      ...(name.trim() === '' && { name: 'Enter a name so you can recognize it later.' }),
    };
    setProblems(wrong);
    if ('problems' in read || wrong.name !== undefined) return undefined;
    const { limits } = read;
    return async () => {
      const wanted = {
        ...{ service, name: name.trim() },
        ...(limits && { limits: withoutNone(limits) }),
        ...(service === 'monitoring' && !canWrite && { readOnly: true }),
      };
      const body = { id: creationId.current, ...wanted };
      try {
        onMade(await askAccount<MadeKey>('keys', { method: 'POST', body }));
      } catch (error) {
        // It was made, but its answer never came: whoever sends again wants another one.
        if (error instanceof RefusedError && error.status === 409) creationId.current = randomId();
        throw error;
      }
    };
  }

  return (
    <DialogForm act="Create key" onAct={create} onCancel={onCancel}>
      <Field
        label="Name"
        value={name}
        problem={problems.name}
        onType={setName}
        autofocus
        maxLength={100}
        placeholder="For example billing-job"
      />
      <ServiceChoice services={services} service={service} onChange={setService} />
      {service === 'gateway' ? (
        <fieldset class="limits-of">
          <legend>Limits</legend>
          <LimitFields typed={typed} problems={problems} onType={setTyped} />
        </fieldset>
      ) : (
        <fieldset class="services">
          <legend>Rights</legend>
          <label>
            <input
              type="checkbox"
              checked={canWrite}
              onChange={({ currentTarget }) => setCanWrite(currentTarget.checked)}
            />
            <span class="aside">
              <strong>Can change monitors</strong>
              Leave unchecked for a read-only key
            </span>
          </label>
        </fieldset>
      )}
    </DialogForm>
  );
}

function ServiceChoice({
  services,
  service,
  onChange,
}: {
  services: readonly ServiceName[];
  service: ServiceName;
  onChange: (service: ServiceName) => void;
}) {
  return (
    <fieldset class="services">
      <legend>Service</legend>
      {services.map((one) => (
        <label key={one}>
          <input
            type="radio"
            name="service"
            checked={one === service}
            onChange={() => onChange(one)}
          />
          <span class="aside">
            <strong>{SERVICES[one].name}</strong>
            {SERVICES[one].about}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The key, this once, and a first request with it. */
function MadeKeyView({
  made: { key, made, forAssistants },
  onDone,
}: {
  made: MadeKey;
  onDone: () => void;
}) {
  const origin = publicAddress();
  const example = curlFor({ service: made.service, key, origin, model: useModel(made) });
  return (
    <div class="made">
      <p role="status">
        Key “<Name>{made.name}</Name>” created. Copy it now; you won't be able to see it again.
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: these are no fields of a form. */}
      <div class="secret framed flow beside" role="group" aria-label="Key">
        <code>{key}</code>
        <CopyButton text={key} />
      </div>
      <h3>Try it</h3>
      <Example name="Example">{example}</Example>
      {forAssistants && (
        <>
          <h3>Use it with an assistant over MCP</h3>
          <Example name="Assistant configuration">{mcpServersFor({ key, origin })}</Example>
        </>
      )}
      <div class="dialog-buttons flow">
        <button type="button" class="main" onClick={onDone}>
          Done, I've saved it
        </button>
      </div>
    </div>
  );
}

/** A model to show in the example: the first that can answer. */
function useModel({ service }: MadeKey['made']): string | undefined {
  const [model, setModel] = useState<string>();
  useEffect(() => {
    if (service !== 'gateway') return;
    // Without an answer the example says what to put there.
    askAccount<ModelsAnswer>('models').then(
      ({ text }) => setModel(text[0]?.id),
      () => setModel(undefined),
    );
  }, [service]);
  return model;
}
