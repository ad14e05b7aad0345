import type { ModelCatalog } from '../../bot/ask/catalog.ts';
import type { ListedModel, ModelsAnswer } from './api-types.ts';

type CatalogModel = Awaited<ReturnType<ModelCatalog['models']>>[number];

/** Another gateway may list more models, with longer texts. */
const MAX_MODELS = 1_000;
const MAX_ID = 200;
const MAX_DESCRIPTION = 500;
const MAX_RESOLUTIONS = 50;
const MAX_PARAMETERS = 50;

const ELSEWHERE = 'These are the models of the gateway at GATEWAY_BASE_URL, which the bot uses.';

export function modelsAnswer(models: readonly CatalogModel[], isElsewhere: boolean): ModelsAnswer {
  const listed = models.slice(0, MAX_MODELS);
  const isCut = models.length > MAX_MODELS;
  const notices = [
    ...(isElsewhere ? [ELSEWHERE] : []),
    ...(isCut ? [`Showing the first ${MAX_MODELS} of ${models.length}.`] : []),
  ];
  return {
    notice: notices.length > 0 ? notices.join(' ') : undefined,
    text: listed.filter(({ kind }) => kind !== 'image').map(shown),
    image: listed.filter(({ kind }) => kind === 'image').map(shown),
  };
}

function shown(model: CatalogModel): ListedModel {
  const { id, owned_by, description, context_length, input, ranks, resolutions } = model;
  const reason = model.unavailable_reason ?? 'No provider serves it right now.';
  const parameters = model.supported_parameters?.slice(0, MAX_PARAMETERS);
  return {
    id: id.slice(0, MAX_ID),
    provider: owned_by.slice(0, MAX_ID),
    description: description?.slice(0, MAX_DESCRIPTION),
    contextTokens: context_length,
    accepts: input,
    ranks,
    unavailable: model.available === false ? reason.slice(0, MAX_DESCRIPTION) : undefined,
    parameters: parameters?.map((name) => name.slice(0, MAX_ID)),
    resolutions: resolutions?.slice(0, MAX_RESOLUTIONS),
  };
}
