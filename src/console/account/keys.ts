import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import { keyStart } from '../../http/key-bodies.ts';
import type { KeyInfo, Keys } from '../../http/keys.ts';
import type { LimitsChange, ListedKey, NewKey, ServiceName } from './api-types.ts';
import { LISTED_DAYS } from './spans.ts';
import { lastDays, type UsageRow, type UsageSource } from './usage.ts';

const KeyCreation = z.object({
  atMs: z.int(),
  /** Of the key that it has made; absent while it is being made. */
  keyId: z.string().optional(),
});
type KeyCreation = z.infer<typeof KeyCreation>;

/** Where requests that have made a key are kept, so that one that is repeated, at whichever process, makes no other. */
export const keyCreationsCollection = {
  name: 'console-key-creations',
  schema: KeyCreation,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** Older ones are no repeats any more. */
const CREATION_KEPT_MS = 3_600_000;

const NOT_HERE: Record<ServiceName, string> = {
  gateway:
    "The model gateway doesn't run in this process (ASKWATCH_ROLES). Create its keys where it runs.",
  monitoring:
    "The monitoring service doesn't run in this process (ASKWATCH_ROLES). Create its keys where it runs.",
};

/** The keys of the services that run here, as the account area manages them. Everything throws `HttpError`. */
export type AccountKeys = ReturnType<typeof createAccountKeys>;

export function createAccountKeys(
  {
    keys,
    usage,
    hasMcp = false,
  }: {
    keys: Partial<Record<ServiceName, Keys | undefined>>;
    usage?: UsageSource | undefined;
    hasMcp?: boolean;
  },
  creations: Collection<KeyCreation>,
) {
  const services = (['gateway', 'monitoring'] as const).filter((service) => keys[service]);

  async function forgetOld() {
    const isOld = ({ atMs }: KeyCreation) => atMs <= Date.now() - CREATION_KEPT_MS;
    for (const { id, document } of await creations.list()) {
      if (isOld(document)) await creations.update(id, () => undefined);
    }
  }

  function keysOf(service: ServiceName): Keys {
    const found = keys[service];
    if (!found) throw notFound(NOT_HERE[service]);
    return found;
  }

  function listed(service: ServiceName, info: KeyInfo, rows?: readonly UsageRow[]): ListedKey {
    const { id, name, createdAtMs, limits = {}, readOnly } = info;
    const lastUsedAtMs = keysOf(service).lastUsedMs(id);
    const own = rows?.filter(({ keyId }) => keyId === id);
    const lastUsedDay = own?.at(-1)?.day;
    return {
      service,
      id,
      start: keyStart(service, id),
      name,
      createdAtMs,
      limits,
      ...(readOnly && { readOnly }),
      ...(lastUsedAtMs !== undefined && { lastUsedAtMs }),
      ...(lastUsedDay !== undefined && { lastUsedDay }),
      ...(own && { used: usedIn(own) }),
    };
  }

  return {
    async list() {
      const rows = await usage?.(lastDays(LISTED_DAYS));
      const all = services.flatMap((service) =>
        keysOf(service)
          .list()
          .map((info) => listed(service, info, service === 'gateway' ? rows : undefined)),
      );
      const missing = (['gateway', 'monitoring'] as const).filter((service) => !keys[service]);
      return {
        services,
        notices: missing.map((service) => NOT_HERE[service]),
        keys: all.sort((a, b) => b.createdAtMs - a.createdAtMs),
      };
    },
    async create({ id: creation, service, name, limits, readOnly }: NewKey) {
      const source = keysOf(service);
      const claim = { atMs: Date.now() };
      let earlier: KeyCreation | undefined;
      await creations.update(creation, (current) => {
        earlier = current;
        return current ?? claim;
      });
      if (earlier) throw alreadyMade(earlier.keyId);
      const making = source.create(name, limits, { readOnly });
      const { key, ...info } = await making.catch(async (error: unknown) => {
        await creations.update(creation, () => undefined);
        throw error;
      });
      await creations.update(creation, () => ({ ...claim, keyId: info.id }));
      await forgetOld();
      return {
        key,
        made: listed(service, info, service === 'gateway' && usage ? [] : undefined),
        ...(service === 'monitoring' && hasMcp && { forAssistants: true }),
      };
    },
    async limit(service: ServiceName, id: string, { limits }: LimitsChange) {
      const info = await keysOf(service).limit(id, limits);
      if (!info) throw noKey(id);
      return listed(service, info);
    },
    async revoke(service: ServiceName, id: string) {
      if (!(await keysOf(service).revoke(id))) throw noKey(id);
    },
  };
}

const noKey = (id: string) =>
  notFound(`No key ${id}. It may have been revoked already. Reload the list.`);

/** The key stands in the first answer alone, and nowhere else. */
function alreadyMade(id: string | undefined): HttpError {
  return new HttpError(
    409,
    'already_made',
    id === undefined
      ? 'This key is already being created. Only the first request shows it.'
      : `This key was already created, and a key is shown only once. If you didn't see it, revoke ${id} and create another.`,
  );
}

function usedIn(rows: readonly UsageRow[]) {
  return {
    requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    tokens: rows.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0),
  };
}
