import { useState } from 'preact/hooks';
import type { ListedModel, ModelsAnswer } from '../../account/api-types.ts';
import { CopyButton } from '../shared/copy-button.tsx';
import { Fact } from '../shared/fact.tsx';
import { useLoaded } from './client.ts';
import { Choice, formatNumber, Meter, Name, Rows, Section } from './parts.tsx';
import {
  chosenModels,
  contextText,
  type ModelFilter,
  ORDERS,
  type Order,
  type Rank,
  rankWord,
} from './ranks.ts';

const RANKS: ReadonlyArray<{ kind: Rank; label: string }> = [
  { kind: 'speed', label: 'Speed' },
  { kind: 'quality', label: 'Quality' },
  { kind: 'cost', label: 'Cost' },
];

const ORDER_OPTIONS = (Object.keys(ORDERS) as Order[]).map((order) => ({
  value: order,
  label: ORDERS[order],
}));

export function ModelsSection() {
  const loaded = useLoaded<ModelsAnswer>('models');
  const [filter, setFilter] = useState<ModelFilter>({
    text: '',
    seesImages: false,
    order: 'catalog',
  });
  const { text: all = [], image = [], notice } = loaded.value ?? {};
  const shown = chosenModels(all, filter);
  const count = Math.max(0, ...all.flatMap(({ ranks }) => (ranks ? Object.values(ranks) : [])));
  return (
    <Section
      title="Models"
      about="The gateway's models. Speed, quality and cost compare these models with each other."
      controls={<ModelControls filter={filter} onChange={setFilter} />}
      loaded={loaded}
      notices={notice === undefined ? [] : [notice]}
      empty={emptyText({ shown: shown.length, all: all.length, images: image.length })}
    >
      <p class="unseen" role="status">
        {shown.length} of {all.length} models
      </p>
      <Rows>
        {shown.map((model) => (
          <TextModel key={model.id} model={model} count={count} />
        ))}
      </Rows>
      {image.length > 0 && <ImageModels models={image} />}
    </Section>
  );
}

function emptyText(count: { shown: number; all: number; images: number }) {
  if (count.all + count.images === 0) {
    return {
      title: 'The catalog is empty',
      text: 'The gateway lists no models. Ask your Askwatch admin to check its catalog.',
    };
  }
  if (count.all === 0 || count.shown > 0) return undefined;
  return {
    title: 'No models match',
    text: "Try another name, or include models that don't accept images.",
  };
}

function ModelControls(props: { filter: ModelFilter; onChange: (filter: ModelFilter) => void }) {
  const { filter, onChange } = props;
  return (
    <>
      <label class="choice minor">
        <span>Find</span>
        <input
          type="search"
          placeholder="Name or provider"
          value={filter.text}
          onInput={({ currentTarget }) => onChange({ ...filter, text: currentTarget.value })}
        />
      </label>
      <Choice<Order>
        label="Order"
        value={filter.order}
        options={ORDER_OPTIONS}
        onChange={(order) => onChange({ ...filter, order })}
        minor
      />
      <label class="check beside">
        <input
          type="checkbox"
          checked={filter.seesImages}
          onChange={({ currentTarget }) =>
            onChange({ ...filter, seesImages: currentTarget.checked })
          }
        />
        Accepts images
      </label>
    </>
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
            <span
              class="pill"
              title={`${formatNumber(contextTokens)} tokens for prompt and answer together`}
            >
              {contextText(contextTokens)} context
            </span>
          )}
          {accepts && <span class="pill">Accepts {accepts.join(' and ')}</span>}
          {unavailable === undefined && (
            <span class="pill">
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
      <Rows>
        {models.map((model) => (
          <li key={model.id} class="model">
            <div class="who">
              <ModelName model={model} />
              <p class="tags flow">
                {model.resolutions?.map((resolution) => (
                  <span key={resolution} class="pill">
                    {resolution.replace('x', ' × ')}
                  </span>
                ))}
                <span class="pill">
                  Listed by <Name>{model.provider}</Name>
                </span>
              </p>
            </div>
          </li>
        ))}
      </Rows>
    </>
  );
}
