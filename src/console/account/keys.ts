import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import { keyStart } from '../../http/key-bodies.ts';
import type { KeyInfo, Keys } from '../../http/keys.ts';
import type { LimitsChange, ListedKey, NewKey, ServiceName } from './api-types.ts';
import { LISTED_DAYS } from './spans.ts';
import { lastDays, type UsageRow, type UsageSource } from './usage.ts';

/** Requests that are known to have made a key; older ones are no repeats any more. */
const MAX_REMEMBERED = 1_000;

const NOT_HERE: Record<ServiceName, string> = {
  gateway:
    'The model gateway does not run in this process, so its keys are made where it runs (ASKWATCH_ROLES).',
  monitoring:
    'The monitoring service does not run in this process, so its keys are made where it runs (ASKWATCH_ROLES).',
};

/** The keys of the services that run here, as the account area manages them. Everything throws `HttpError`. */
export type AccountKeys = ReturnType<typeof createAccountKeys>;

export function createAccountKeys(
  keys: Partial<Record<ServiceName, Keys | undefined>>,
  usage: UsageSource | undefined,
) {
  const services = (['gateway', 'monitoring'] as const).filter((service) => keys[service]);
  /** The id of the key that a request has made; `undefined` while it is being made. */
  const made = new Map<string, string | undefined>();

  function keysOf(service: ServiceName): Keys {
    const found = keys[service];
    if (!found) throw notFound(NOT_HERE[service]);
    return found;
  }

  function listed(service: ServiceName, info: KeyInfo, rows?: readonly UsageRow[]): ListedKey {
    const { id, name, createdAtMs, limits = {} } = info;
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
    async create({ id: creation, service, name, limits }: NewKey) {
      const source = keysOf(service);
      if (made.has(creation)) throw alreadyMade(made.get(creation));
      made.set(creation, undefined);
      forgetOldest(made, MAX_REMEMBERED);
      try {
        const { key, ...info } = await source.create(name, limits);
        made.set(creation, info.id);
        return {
          key,
          made: listed(service, info, service === 'gateway' && usage ? [] : undefined),
        };
      } catch (error) {
        made.delete(creation);
        throw error;
      }
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
  notFound(`There is no key ${id}; it may have been revoked already. Load the list again.`);

/** The key stands in the first answer alone, and nowhere else. */
function alreadyMade(id: string | undefined): HttpError {
  return new HttpError(
    409,
    'already_made',
    id === undefined
      ? 'This key is being made. It is shown in the first answer alone.'
      : `This key was made already, and it is shown once. If you did not see it, revoke ${id} and make another.`,
  );
}

function usedIn(rows: readonly UsageRow[]) {
  return {
    requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    tokens: rows.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0),
  };
}
