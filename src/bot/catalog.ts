import type { Logger } from 'pino';
import type { GatewayClient } from '../clients/gateway.ts';
import type { Model } from '../contracts/gateway.ts';
import { CommandError } from './errors.ts';

/** The gateway's models, asked for at most once a minute. */
export interface Catalog {
  models(options?: { fresh?: boolean }): Promise<Model[]>;
  /** The model to chat with: the one named, or the first. Throws `CommandError` when there is no such model. */
  chatModel(name?: string): Promise<Model>;
}

const KEEP_MS = 60_000;

/** A catalog over the gateway; when it cannot be asked again, the models known last still serve. */
export function createCatalog(options: {
  gateway: GatewayClient;
  log: Logger;
  nowMs?: () => number;
}): Catalog {
  const { gateway, log, nowMs = () => performance.now() } = options;
  let known: { models: Model[]; atMs: number } | undefined;
  let asking: Promise<Model[]> | undefined;

  async function ask(): Promise<Model[]> {
    try {
      const models = await gateway.models();
      known = { models, atMs: nowMs() };
      return models;
    } catch (error) {
      if (!known) throw error;
      log.warn({ err: error }, 'the catalog cannot be read; the models known last still serve');
      return known.models;
    } finally {
      asking = undefined;
    }
  }

  async function models({ fresh = false }: { fresh?: boolean } = {}): Promise<Model[]> {
    if (known && !fresh && nowMs() - known.atMs < KEEP_MS) return known.models;
    asking ??= ask();
    return await asking;
  }

  return {
    models,
    async chatModel(name) {
      const found = pick(await models(), name) ?? pick(await models({ fresh: true }), name);
      if (found) return found;
      const names = chatModels(await models()).map(({ id }) => id);
      throw new CommandError(
        name === undefined
          ? 'The model gateway offers no text model. Whoever runs Askwatch can look at its catalog.'
          : `There is no text model “${name}”. There are: ${names.join(', ') || 'none'}. See /askwatch models.`,
      );
    },
  };
}

/** Models that answer in text. A bare list does not say which do; then any may. */
export function chatModels(models: readonly Model[]): Model[] {
  return models.filter(({ kind }) => kind !== 'image');
}

function pick(models: readonly Model[], name: string | undefined): Model | undefined {
  const chat = chatModels(models);
  if (name === undefined) return chat[0];
  const lower = name.toLowerCase();
  return chat.find(({ id }) => id === name) ?? chat.find(({ id }) => id.toLowerCase() === lower);
}
