import type { Logger } from 'pino';
import type { GatewayClient } from '../../clients/gateway.ts';
import { type Model, OFFLINE_PROVIDER } from '../../contracts/gateway.ts';
import { oneLine } from '../../contracts/one-line.ts';
import { CommandError } from '../shared/errors.ts';

/** The gateway's models, asked for at most once a minute. */
export type Catalog = ReturnType<typeof createCatalog>;

const KEEP_MS = 60_000;

/** A catalog over the gateway; when it cannot be asked again, the models known last still serve. */
export function createCatalog(options: {
  gateway: Pick<GatewayClient, 'models'>;
  /** The operator's default. */
  standard?: string | undefined;
  log: Logger;
}) {
  const { gateway, standard, log } = options;
  /** The default that was last found to be served by nobody. */
  let unserved: string | undefined;
  let known: { models: Model[]; atMs: number } | undefined;
  let asking: Promise<Model[]> | undefined;

  async function ask(): Promise<Model[]> {
    try {
      const models = (await gateway.models()).map(withOwnContext);
      known = { models, atMs: performance.now() };
      return models;
    } catch (error) {
      if (!known) throw error;
      log.warn({ err: error }, 'could not read the model catalog; using the last known models');
      return known.models;
    } finally {
      asking = undefined;
    }
  }

  async function models({ fresh = false }: { fresh?: boolean } = {}): Promise<Model[]> {
    if (known && !fresh && performance.now() - known.atMs < KEEP_MS) return known.models;
    asking ??= ask();
    return await asking;
  }

  /** Tells the operator once that another model answers than the one that was set. */
  function noteDefault({ id }: Model): void {
    const stands = standard === undefined || id.toLowerCase() === standard.toLowerCase();
    if (!stands && unserved !== standard) {
      log.warn(
        { model: standard, instead: id },
        'no provider serves the model in ASK_MODEL; another model answers instead',
      );
    }
    unserved = stands ? undefined : standard;
  }

  return {
    models,
    /**
     * The model to chat with: the one named, else the operator's default where somebody serves it, else the first that
     * somebody serves. Throws `CommandError` when there is no such model, or nobody serves the one named.
     */
    async chatModel(name?: string) {
      const asked = { name, standard };
      const found = choose(await models(), asked) ?? choose(await models({ fresh: true }), asked);
      if (!found) throw noModel(await models(), name ?? standard);
      if (name === undefined) noteDefault(found);
      return found;
    },
    /** The best of the models that see pictures and that somebody else than the built-in engine serves. */
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

/** The context that the provider lists holds, not the catalog's. */
const withOwnContext = (model: Model): Model =>
  model.upstream?.context_length === undefined
    ? model
    : { ...model, context_length: model.upstream.context_length };

/** Nobody but the built-in engine answers for it. */
export const isOffline = ({ owned_by }: Pick<Model, 'owned_by'>) => owned_by === OFFLINE_PROVIDER;

/** The built-in engine, as a footer signs for it. */
export const OFFLINE_NAME = 'offline engine';

/** The name that people know a model by: the provider's own if the gateway lists it, else the catalog's. */
export function nameOf(model: Model): string {
  if (isOffline(model)) return OFFLINE_NAME;
  return oneLine(model.upstream?.model ?? '').slice(0, MAX_NAME) || model.id;
}

/** `gpt-5-mini (fast-8k)`: a model's own name, and the name or reason to show beside it if that differs. */
export const nameBeside = (name: string, beside: string | undefined) =>
  beside === undefined || beside === name ? name : `${name} (${beside})`;

/** All models that can answer, if there are several and one provider's model answers for all of them. */
export function rolesOfOneModel(models: readonly Model[]): Model[] | undefined {
  const roles = chatModels(models).filter(isServed);
  const isKnown = roles.every((model) => isOffline(model) || model.upstream !== undefined);
  const names = new Set(roles.map((model) => `${model.owned_by} ${nameOf(model)}`));
  return roles.length > 1 && isKnown && names.size === 1 ? roles : undefined;
}

/** Whether a model can answer now; a list that does not say so means yes. */
export const isServed = ({ available }: Model) => available !== false;

/** Models that answer in text. A bare list does not say which do; then any may. */
export function chatModels(models: readonly Model[]): Model[] {
  return models.filter(({ kind }) => kind !== 'image');
}

function findModel(models: readonly Model[], name: string): Model | undefined {
  const chat = chatModels(models);
  const lower = name.toLowerCase();
  return chat.find(({ id }) => id === name) ?? chat.find(({ id }) => id.toLowerCase() === lower);
}

/** The model named. A default that is no model is a mistake to be told; one that nobody serves now is passed over. */
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

/** Why there is no model to chat with, and what there is instead. */
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
