import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
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

const KeyCreation = z.object({
  atMs: z.int(),
  /** Absent while the key is being created. */
  keyId: z.string().optional(),
});
type KeyCreation = z.infer<typeof KeyCreation>;

/** Recent creations by the page's ids, so that a repeated request creates no second key, in any process. */
export const keyCreationsCollection = {
  name: 'console-key-creations',
  schema: KeyCreation,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** A browser doesn't repeat a request after so long. */
const CREATION_KEPT_MS = 3_600_000;

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
  private readonly keys: KeySources['keys'];
  private readonly usage: UsageSource | undefined;
  private readonly hasMcp: boolean;
  private readonly creations: Collection<KeyCreation>;

  constructor({ keys, usage, hasMcp = false }: KeySources, creations: Collection<KeyCreation>) {
    this.keys = keys;
    this.usage = usage;
    this.hasMcp = hasMcp;
    this.creations = creations;
  }

  async list(): Promise<KeyList> {
    const rows = await this.usage?.(lastDays(LISTED_DAYS));
    const services = SERVICES.filter((service) => this.keys[service]);
    const keys = services.flatMap((service) =>
      this.keysOf(service)
        .list()
        .map((info) => this.listed(service, info, service === 'gateway' ? rows : undefined)),
    );
    return {
      services,
      notices: SERVICES.filter((one) => !this.keys[one]).map((one) => NOT_HERE[one]),
      keys: keys.sort((a, b) => b.createdAtMs - a.createdAtMs),
    };
  }

  async create({ id: creation, service, name, limits, readOnly }: NewKey): Promise<CreatedKey> {
    const source = this.keysOf(service);
    const claim = { atMs: Date.now() };
    let earlier: KeyCreation | undefined;
    await this.creations.update(creation, (current) => {
      earlier = current;
      return current ?? claim;
    });
    if (earlier) throw alreadyMade(earlier.keyId);
    const making = source.create(name, limits, { readOnly });
    const { key, ...info } = await making.catch(async (error: unknown) => {
      await this.creations.update(creation, () => undefined);
      throw error;
    });
    await this.creations.update(creation, () => ({ ...claim, keyId: info.id }));
    await this.forgetOldCreations();
    return {
      key,
      made: this.listed(service, info, service === 'gateway' && this.usage ? [] : undefined),
      forAssistants: service === 'monitoring' && this.hasMcp ? true : undefined,
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
    const found = this.keys[service];
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

  private async forgetOldCreations() {
    const isOld = ({ atMs }: KeyCreation) => atMs <= Date.now() - CREATION_KEPT_MS;
    for (const { id, document } of await this.creations.list()) {
      if (isOld(document)) await this.creations.update(id, () => undefined);
    }
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
