import type { ModelRanks } from '../../contracts/gateway.ts';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog, TextModel } from '../catalog/catalog-schema.ts';
import type { ModelFigures, ProviderTable } from '../providers/provider.ts';
import { PROVIDER_TABLE } from '../providers/provider-table.ts';

/** A provider and its name for a model. */
interface ProviderModel {
  provider: string;
  model: string;
}

/**
 * Ranks the text models, by id, by the figures of the provider's model that answers first, so models with the same upstream
 * rank equally. A provider's model without known figures gets the figures of the first catalog model that it answers for. If the
 * operator wrote ranks, only these count.
 */
export function ranksOf(
  catalog: Catalog,
  answersFirst: (model: TextModel) => ProviderModel | undefined,
  table: ProviderTable = PROVIDER_TABLE,
): ReadonlyMap<string, ModelRanks> {
  const models = textModels(catalog);
  const written = models.flatMap(({ id, ranks }) => (ranks ? [[id, ranks] as const] : []));
  if (written.length > 0) return new Map(written);
  const unknown = new Map<string, ModelFigures | undefined>();
  const known = models.flatMap((model) => {
    const answering = answersFirst(model);
    let figures = answering && figuresOf(answering, table);
    if (!figures) {
      const name = answering ? `${answering.provider} ${answering.model}` : `nobody ${model.id}`;
      if (!unknown.has(name)) unknown.set(name, figuresInCatalog(model, table));
      figures = unknown.get(name);
    }
    return figures ? [{ id: model.id, figures }] : [];
  });
  /** Returns a function that ranks a model's value among all models, the smallest first. */
  function rankBy(figureOf: (figures: ModelFigures) => number) {
    const values = new Set(known.map(({ figures }) => figureOf(figures)));
    const places = [...values].sort((a, b) => a - b);
    return (figures: ModelFigures) => places.indexOf(figureOf(figures)) + 1;
  }
  const speedRank = rankBy(({ speed }) => speed);
  const qualityRank = rankBy(({ quality }) => quality);
  // Price comparisons commonly assume three prompt tokens for each answer token.
  const costRank = rankBy(({ price: [input, output] }) => (3 * input + output) / 4);
  return new Map(
    known.map(({ id, figures }) => [
      id,
      {
        speed: speedRank(figures),
        quality: qualityRank(figures),
        cost: costRank(figures),
      },
    ]),
  );
}

/** Returns the figures of the first upstream in the catalog that has some. */
function figuresInCatalog(model: TextModel, table: ProviderTable): ModelFigures | undefined {
  for (const upstream of model.upstreams) {
    const figures = figuresOf(upstream, table);
    if (figures) return figures;
  }
  return undefined;
}

/** Returns the figures of a provider's model; most have none. */
export function figuresOf(
  { provider, model }: ProviderModel,
  table: ProviderTable = PROVIDER_TABLE,
): ModelFigures | undefined {
  const figures = table[provider]?.catalog?.figures ?? {};
  return Object.hasOwn(figures, model) ? figures[model] : undefined;
}
