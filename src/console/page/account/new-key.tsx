import { useEffect, useRef, useState } from 'preact/hooks';
import type { CreatedKey, KeyService, ModelsAnswer } from '../../account/api-types.ts';
import { CopyButton } from '../shared/copy-button.tsx';
import { publicAddress } from '../shared/meta.ts';
import { randomId } from '../shared/random-id.ts';
import { RefusedError, requestAccount } from './client.ts';
import { DialogForm, Example, Field } from './dialog.tsx';
import { curlFor, mcpServersFor } from './example.ts';
import { LimitFields } from './limit-fields.tsx';
import { type LimitName, readLimits, typedOf, withoutNone } from './limits.ts';
import { Name } from './parts.tsx';

const SERVICES: Record<KeyService, { name: string; about: string }> = {
  gateway: {
    name: 'Model gateway',
    about: 'Send requests to models with any OpenAI-compatible client',
  },
  monitoring: { name: 'Monitoring service', about: 'Create and read monitors' },
};

export function NewKeyForm(props: {
  services: readonly KeyService[];
  onCreated: (created: CreatedKey) => void;
  onCancel: () => void;
}) {
  const { services, onCreated, onCancel } = props;
  const [service, setService] = useState<KeyService>(services[0] ?? 'gateway');
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
      const body = {
        id: creationId.current,
        service,
        name: name.trim(),
        limits: limits && withoutNone(limits),
        readOnly: service === 'monitoring' && !canWrite ? true : undefined,
      };
      try {
        onCreated(await requestAccount<CreatedKey>('keys', { method: 'POST', body }));
      } catch (error) {
        // The key exists, but its answer was lost. The next attempt creates another one.
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

function ServiceChoice(props: {
  services: readonly KeyService[];
  service: KeyService;
  onChange: (service: KeyService) => void;
}) {
  const { services, service, onChange } = props;
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

export function CreatedKeyView({ created: { key, made, forAssistants } }: { created: CreatedKey }) {
  const origin = publicAddress();
  const example = curlFor({ service: made.service, key, origin, model: useModel(made) });
  return (
    <>
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
    </>
  );
}

/** The model of the example: the first in the catalog. */
function useModel({ service }: CreatedKey['made']): string | undefined {
  const [model, setModel] = useState<string>();
  useEffect(() => {
    if (service !== 'gateway') return;
    // Without a catalog the example has a placeholder.
    requestAccount<ModelsAnswer>('models').then(
      ({ text }) => setModel(text[0]?.id),
      () => setModel(undefined),
    );
  }, [service]);
  return model;
}
