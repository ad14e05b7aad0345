import type { Catalog } from '../../bot/ask/catalog.ts';
import type { ListedModel, ModelsAnswer } from './api-types.ts';

type Model = Awaited<ReturnType<Catalog['models']>>[number];

/** A gateway elsewhere may list any number, and write at any length. */
const MAX_MODELS = 1_000;
const MAX_ID = 200;
const MAX_DESCRIPTION = 500;
const MAX_RESOLUTIONS = 50;
const MAX_PARAMETERS = 50;

const ELSEWHERE = 'These are the models of the gateway at GATEWAY_BASE_URL, which the bot uses.';

/** The catalog as the page shows it. Pure. */
export function modelsAnswer(models: readonly Model[], isElsewhere: boolean): ModelsAnswer {
  const listed = models.slice(0, MAX_MODELS);
  const isCut = models.length > MAX_MODELS;
  const notices = [
    ...(isElsewhere ? [ELSEWHERE] : []),
    ...(isCut ? [`Showing the first ${MAX_MODELS} of ${models.length}.`] : []),
  ];
  return {
    ...(notices.length > 0 && { notice: notices.join(' ') }),
    text: listed.filter(({ kind }) => kind !== 'image').map(shown),
    image: listed.filter(({ kind }) => kind === 'image').map(shown),
  };
}

function shown(model: Model): ListedModel {
  const { id, owned_by, description, context_length, input, ranks, resolutions } = model;
  const parameters = model.supported_parameters?.slice(0, MAX_PARAMETERS);
  return {
    id: id.slice(0, MAX_ID),
    provider: owned_by.slice(0, MAX_ID),
    ...(description !== undefined && { description: description.slice(0, MAX_DESCRIPTION) }),
    ...(context_length !== undefined && { contextTokens: context_length }),
    ...(input && { accepts: input }),
    ...(ranks && { ranks }),
    ...(model.available === false && {
      unavailable: (model.unavailable_reason ?? 'No provider serves it right now.').slice(
        0,
        MAX_DESCRIPTION,
      ),
    }),
    ...(parameters && { parameters: parameters.map((name) => name.slice(0, MAX_ID)) }),
    ...(resolutions && { resolutions: resolutions.slice(0, MAX_RESOLUTIONS) }),
  };
}
