import type { Logger } from 'pino';
import type { GatewayClient } from '../../clients/gateway.ts';
import { type Model, OFFLINE_PROVIDER } from '../../contracts/gateway.ts';
import { oneLine } from '../../contracts/one-line.ts';
import { CommandError } from '../shared/errors.ts';

export type ModelCatalog = ReturnType<typeof createCatalog>;

const KEEP_MS = 60_000;

/** The gateway's models, read at most once a minute. If that fails, the last ones stay in use. */
export function createCatalog(options: {
  gateway: Pick<GatewayClient, 'models'>;
  /** The operator's default. */
  standard?: string;
  log: Logger;
}) {
  const { gateway, standard, log } = options;
  /** The default that no provider served at the last check, so that the warning is logged once. */
  let unserved: string | undefined;
  let cache: { models: Model[]; atMs: number } | undefined;
  let reading: Promise<Model[]> | undefined;

  async function read(): Promise<Model[]> {
    try {
      const models = (await gateway.models()).map(withOwnContext);
      cache = { models, atMs: performance.now() };
      return models;
    } catch (error) {
      if (!cache) throw error;
      log.warn({ err: error }, 'could not read the model catalog; using the last known models');
      return cache.models;
    } finally {
      reading = undefined;
    }
  }

  async function models({ fresh = false }: { fresh?: boolean } = {}): Promise<Model[]> {
    if (cache && !fresh && performance.now() - cache.atMs < KEEP_MS) return cache.models;
    reading ??= read();
    return await reading;
  }

  /** Warns the operator once if another model answers instead of the default. */
  function checkDefault({ id }: Model): void {
    const isDefault = standard === undefined || id.toLowerCase() === standard.toLowerCase();
    if (!isDefault && unserved !== standard) {
      log.warn(
        { model: standard, instead: id },
        'no provider serves the model in ASK_MODEL; another model answers instead',
      );
    }
    unserved = isDefault ? undefined : standard;
  }

  return {
    models,
    /**
     * The model for an answer: the named one, else the operator's default if a provider serves it, else the first one that is
     * served. Throws a `CommandError` if there is none, or if the named one isn't served.
     */
    async chatModel(name?: string) {
      const wanted = { name, standard };
      const found = choose(await models(), wanted) ?? choose(await models({ fresh: true }), wanted);
      if (!found) throw noModel(await models(), name ?? standard);
      if (name === undefined) checkDefault(found);
      return found;
    },
    /** The best served model that reads images, apart from the built-in engine. */
    async seeingModel(): Promise<Model | undefined> {
      const qualityOf = ({ ranks }: Model) => ranks?.quality ?? 0;
      return chatModels(await models())
        .filter((one) => isServed(one) && one.input?.includes('image'))
        .filter((one) => !isOffline(one))
        .sort((a, b) => qualityOf(b) - qualityOf(a))[0];
    },
  };
}

const MAX_NAME = 100;

/** The provider's context size takes precedence over the catalog's. */
const withOwnContext = (model: Model): Model =>
  model.upstream?.context_length === undefined
    ? model
    : { ...model, context_length: model.upstream.context_length };

export const isOffline = ({ owned_by }: Pick<Model, 'owned_by'>) => owned_by === OFFLINE_PROVIDER;

/** The built-in engine in a footer. */
export const OFFLINE_NAME = 'offline engine';

/** A model's name for people: the provider's own if the gateway lists it, else the catalog's. */
export function nameOf(model: Model): string {
  if (isOffline(model)) return OFFLINE_NAME;
  return oneLine(model.upstream?.model ?? '').slice(0, MAX_NAME) || model.id;
}

/** `gpt-5-mini (fast-8k)`: a model's own name, and a different name or reason in brackets. */
export const nameBeside = (name: string, beside: string | undefined) =>
  beside === undefined || beside === name ? name : `${name} (${beside})`;

/** All models that can answer, if there are several and the same provider's model answers for all of them. */
export function rolesOfOneModel(models: readonly Model[]): Model[] | undefined {
  const roles = chatModels(models).filter(isServed);
  const isKnown = roles.every((model) => isOffline(model) || model.upstream !== undefined);
  const names = new Set(roles.map((model) => `${model.owned_by} ${nameOf(model)}`));
  return roles.length > 1 && isKnown && names.size === 1 ? roles : undefined;
}

/** A list that doesn't say whether a model can answer means yes. */
export const isServed = ({ available }: Model) => available !== false;

/** Models that answer in text; in a list without kinds, all of them. */
export function chatModels(models: readonly Model[]): Model[] {
  return models.filter(({ kind }) => kind !== 'image');
}

function findModel(models: readonly Model[], name: string): Model | undefined {
  const chat = chatModels(models);
  const lower = name.toLowerCase();
  return chat.find(({ id }) => id === name) ?? chat.find(({ id }) => id.toLowerCase() === lower);
}

/** A default that isn't a model is an error; one that isn't served now is skipped. */
function choose(
  models: readonly Model[],
  { name, standard }: Record<'name' | 'standard', string | undefined>,
): Model | undefined {
  const wanted = name ?? standard;
  const found = wanted === undefined ? undefined : findModel(models, wanted);
  if (found && isServed(found)) return found;
  const mayBeAny = name === undefined && (found !== undefined || standard === undefined);
  return mayBeAny ? chatModels(models).find(isServed) : undefined;
}

/** Names the reason and the available models. */
function noModel(models: readonly Model[], name: string | undefined): CommandError {
  const chat = chatModels(models);
  const served = chat.filter(isServed).map(({ id }) => id);
  const able = `Available models: ${served.join(', ')}. See /askwatch models.`;
  const named = name === undefined ? undefined : findModel(models, name);
  if (chat.length === 0) {
    return new CommandError(
      'The model gateway offers no text model. Ask your Askwatch admin to check its catalog.',
    );
  }
  if (name !== undefined && !named) {
    const names = chat.map(({ id }) => id).join(', ');
    return new CommandError(
      `No text model called “${name}”. Choose one of: ${names}. See /askwatch models.`,
    );
  }
  const why = (named ?? chat[0])?.unavailable_reason;
  const what = named
    ? `The model “${named.id}” is not available now.`
    : 'No model is available now.';
  return new CommandError([what, why, served.length > 0 && able].filter(Boolean).join(' '));
}
