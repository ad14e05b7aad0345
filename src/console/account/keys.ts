import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import { keyStart } from '../../http/key-bodies.ts';
import type { KeyInfo, Keys } from '../../http/keys.ts';
import type {
  CreatedKey,
  KeyList,
  KeyService,
  LimitsChange,
  ListedKey,
  NewKey,
} from './api-types.ts';
import { LISTED_DAYS } from './spans.ts';
import { lastDays, type UsageDayRow, type UsageSource } from './usage.ts';

/** Creations whose repetition is noticed, oldest evicted first. */
const MAX_CREATIONS = 1_000;

const SERVICES = ['gateway', 'monitoring'] as const;

const NOT_HERE: Record<KeyService, string> = {
  gateway:
    "The model gateway doesn't run in this process (ASKWATCH_ROLES). Create its keys where it runs.",
  monitoring:
    "The monitoring service doesn't run in this process (ASKWATCH_ROLES). Create its keys where it runs.",
};

/** The services in this process, with their keys. */
export interface KeySources {
  keys: Partial<Record<KeyService, Keys | undefined>>;
  /** The gateway's usage; absent if it doesn't run here. */
  usage?: UsageSource;
  /** True if keys of the monitoring service also work at `/mcp` here. */
  hasMcp?: boolean;
}

/** Manages the keys of the services in this process. Everything throws `HttpError`. */
export class AccountKeys {
  private readonly sources: KeySources;
  /** The keys by the page's ids of their creations, so that a repeated request creates no second key. */
  private readonly creations = new Map<string, string | undefined>();

  constructor(sources: KeySources) {
    this.sources = sources;
  }

  async list(): Promise<KeyList> {
    const rows = await this.sources.usage?.(lastDays(LISTED_DAYS));
    const services = SERVICES.filter((service) => this.sources.keys[service]);
    const keys = services.flatMap((service) =>
      this.keysOf(service)
        .list()
        .map((info) => this.listed(service, info, service === 'gateway' ? rows : undefined)),
    );
    return {
      services,
      notices: SERVICES.filter((one) => !services.includes(one)).map((one) => NOT_HERE[one]),
      keys: keys.sort((a, b) => b.createdAtMs - a.createdAtMs),
    };
  }

  async create({ id: creation, service, name, limits, readOnly }: NewKey): Promise<CreatedKey> {
    const source = this.keysOf(service);
    if (this.creations.has(creation)) throw alreadyMade(this.creations.get(creation));
    this.creations.set(creation, undefined);
    forgetOldest(this.creations, MAX_CREATIONS);
    const making = source.create(name, limits, { readOnly });
    const { key, ...info } = await making.catch((error: unknown) => {
      this.creations.delete(creation);
      throw error;
    });
    this.creations.set(creation, info.id);
    return {
      key,
      made: this.listed(
        service,
        info,
        service === 'gateway' && this.sources.usage ? [] : undefined,
      ),
      forAssistants: service === 'monitoring' && this.sources.hasMcp ? true : undefined,
    };
  }

  async limit(service: KeyService, id: string, { limits }: LimitsChange): Promise<ListedKey> {
    const info = await this.keysOf(service).limit(id, limits);
    if (!info) throw noKey(id);
    return this.listed(service, info);
  }

  async revoke(service: KeyService, id: string): Promise<void> {
    if (!(await this.keysOf(service).revoke(id))) throw noKey(id);
  }

  private keysOf(service: KeyService): Keys {
    const found = this.sources.keys[service];
    if (!found) throw notFound(NOT_HERE[service]);
    return found;
  }

  private listed(service: KeyService, info: KeyInfo, rows?: readonly UsageDayRow[]): ListedKey {
    const { id, name, createdAtMs, limits = {}, readOnly } = info;
    const own = rows?.filter(({ keyId }) => keyId === id);
    return {
      service,
      id,
      start: keyStart(service, id),
      name,
      createdAtMs,
      limits,
      readOnly: readOnly || undefined,
      lastUsedAtMs: this.keysOf(service).lastUsedMs(id),
      lastUsedDay: own?.at(-1)?.day,
      used: own && usedIn(own),
    };
  }
}

const noKey = (id: string) =>
  notFound(`No key ${id}. It may have been revoked already. Reload the list.`);

/** Only the first answer contains the key, so a repeated request can't show it. */
function alreadyMade(id: string | undefined): HttpError {
  return new HttpError(
    409,
    'already_made',
    id === undefined
      ? 'This key is already being created. Only the first request shows it.'
      : `This key was already created, and a key is shown only once. If you didn't see it, revoke ${id} and create another.`,
  );
}

function usedIn(rows: readonly UsageDayRow[]) {
  return {
    requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    tokens: rows.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0),
  };
}
