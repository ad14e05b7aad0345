import { useEffect, useState } from 'preact/hooks';
import type { MadeKey, ModelsAnswer } from '../../account/api-types.ts';
import { CopyButton } from '../shared/copy-button.tsx';
import { publicAddress } from '../shared/public-address.ts';
import { askAccount } from './client.ts';
import { curlFor } from './example.ts';
import { Name } from './parts.tsx';

/** The key, this once, and a first request with it. */
export function MadeKeyView({
  made: { key, made },
  onDone,
}: {
  made: MadeKey;
  onDone: () => void;
}) {
  const example = curlFor({
    service: made.service,
    key,
    origin: publicAddress(),
    model: useModel(made),
  });
  return (
    <div class="made">
      <p role="status">
        “<Name>{made.name}</Name>” is made. This is the only time that its key is shown: keep it
        where your secrets are.
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: these are no fields of a form. */}
      <div class="secret" role="group" aria-label="Key">
        <code>{key}</code>
        <CopyButton text={key} />
      </div>
      <h3>Try it</h3>
      {/* biome-ignore lint/a11y/useSemanticElements: these are no fields of a form. */}
      <div class="example" role="group" aria-label="Example">
        <CopyButton text={example} />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there. */}
        <pre tabIndex={0}>{example}</pre>
      </div>
      <div class="dialog-buttons">
        <button type="button" class="main" onClick={onDone}>
          Done, I have kept it
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
