import { useState } from 'preact/hooks';
import type { ListedModel, ModelsAnswer } from '../../account/api-types.ts';
import { CopyButton } from '../shared/copy-button.tsx';
import { Fact } from '../shared/fact.tsx';
import { useLoaded } from './client.ts';
import { Empty, formatNumber, Meter, Name, Notice, SectionHead, Waiting } from './parts.tsx';
import { chosenModels, contextText, ORDERS, type Order, type Rank, rankWord } from './ranks.ts';

const RANKS: ReadonlyArray<{ kind: Rank; label: string }> = [
  { kind: 'speed', label: 'Speed' },
  { kind: 'quality', label: 'Quality' },
  { kind: 'cost', label: 'Cost' },
];

/** The catalog of the gateway: how its models compare, and who answers. */
export function ModelsSection() {
  const loaded = useLoaded<ModelsAnswer>('models');
  const [text, setText] = useState('');
  const [seesImages, setSeesImages] = useState(false);
  const [order, setOrder] = useState<Order>('catalog');
  const { value } = loaded;
  const all = value?.text ?? [];
  const shown = chosenModels(all, { text, seesImages, order });
  const count = Math.max(0, ...all.flatMap(({ ranks }) => (ranks ? Object.values(ranks) : [])));
  return (
    <section>
      <SectionHead
        title="Models"
        about="The gateway's models. Speed, quality and cost compare these models with each other."
      />
      <div class="choices flow">
        <label class="choice minor">
          <span>Find</span>
          <input
            type="search"
            placeholder="Name or provider"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <label class="choice minor">
          <span>Order</span>
          <select
            value={order}
            onChange={({ currentTarget }) => setOrder(currentTarget.value as Order)}
          >
            {Object.entries(ORDERS).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="check beside">
          <input
            type="checkbox"
            checked={seesImages}
            onChange={({ currentTarget }) => setSeesImages(currentTarget.checked)}
          />
          Accepts images
        </label>
      </div>
      <Waiting loaded={loaded} />
      {value?.notice !== undefined && <Notice>{value.notice}</Notice>}
      {value && (
        <p class="unseen" role="status">
          {shown.length} of {all.length} models
        </p>
      )}
      {value && all.length > 0 && shown.length === 0 && (
        <Empty title="No models match">
          <p>Try another name, or include models that don't accept images.</p>
        </Empty>
      )}
      {value && all.length + value.image.length === 0 && (
        <Empty title="The catalog is empty">
          <p>The gateway lists no models. Ask your Askwatch admin to check its catalog.</p>
        </Empty>
      )}
      <ul class="rows framed">
        {shown.map((model) => (
          <TextModel key={model.id} model={model} count={count} />
        ))}
      </ul>
      {value && value.image.length > 0 && <ImageModels models={value.image} />}
    </section>
  );
}

function TextModel({ model, count }: { model: ListedModel; count: number }) {
  const { contextTokens, accepts, parameters, ranks, provider, unavailable } = model;
  return (
    <li class="model">
      <div class="who">
        <ModelName model={model} />
        <p class="tags flow">
          {contextTokens !== undefined && (
            <span title={`${formatNumber(contextTokens)} tokens for prompt and answer together`}>
              {contextText(contextTokens)} context
            </span>
          )}
          {accepts && <span>Accepts {accepts.join(' and ')}</span>}
          {unavailable === undefined && (
            <span>
              Served by <Name>{provider}</Name>
            </span>
          )}
        </p>
        {parameters && <p class="more aside">Parameters: {parameters.join(', ')}</p>}
        {unavailable !== undefined && <p>{unavailable}</p>}
      </div>
      {ranks && (
        <dl class="ranks">
          {RANKS.map(({ kind, label }) => (
            <Fact key={kind} label={label}>
              <Meter kind={kind} share={ranks[kind] / Math.max(1, count)} />
              <span title={`Rank ${ranks[kind]} of ${count}`}>
                {rankWord(kind, ranks[kind], count)}
              </span>
            </Fact>
          ))}
        </dl>
      )}
    </li>
  );
}

/** The id to copy, and what the model is. */
function ModelName({ model: { id, description } }: { model: ListedModel }) {
  return (
    <>
      <h3 class="flow beside">
        <Name>{id}</Name>
        <CopyButton text={id} />
      </h3>
      {description !== undefined && <p>{description}</p>}
    </>
  );
}

function ImageModels({ models }: { models: readonly ListedModel[] }) {
  return (
    <>
      <h3 class="apart">Image models</h3>
      <p class="more aside">They create images and can't answer questions.</p>
      <ul class="rows framed">
        {models.map((model) => (
          <li key={model.id} class="model">
            <div class="who">
              <ModelName model={model} />
              <p class="tags flow">
                {model.resolutions?.map((resolution) => (
                  <span key={resolution}>{resolution.replace('x', ' × ')}</span>
                ))}
                <span>
                  Listed by <Name>{model.provider}</Name>
                </span>
              </p>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}
