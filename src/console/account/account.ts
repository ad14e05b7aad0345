import { z } from 'zod';
import type { Catalog } from '../../bot/ask/catalog.ts';
import type { Intakes } from '../../bot/intake/intakes.ts';
import type { Store } from '../../bot/platform.ts';
import { explainError } from '../../bot/shared/explain-error.ts';
import type { UsageLog } from '../../bot/usage/usage-log.ts';
import { HttpError } from '../../http/errors.ts';
import type { Keys } from '../../http/keys.ts';
import type { AddressFor } from '../../http/public-address.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { type Guards, guarded } from '../login/guards.ts';
import {
  ChannelsAnswer,
  Days,
  IntakeList,
  KeyList,
  LimitsChange,
  ListedKey,
  MadeIntake,
  MadeKey,
  ModelsAnswer,
  NewIntake,
  NewKey,
  ServiceName,
  UsageAnswer,
  UsageBy,
} from './api-types.ts';
import { askedByChannel } from './channels.ts';
import { createAccountIntakes, type PlaceNames } from './intakes.ts';
import { type AccountKeys, createAccountKeys, keyCreationsCollection } from './keys.ts';
import { modelsAnswer } from './models.ts';
import { lastDays, type UsageSource, usageReport } from './usage.ts';

/** What the account area manages: of the services that run in this process. */
export interface Account {
  keys: Partial<Record<ServiceName, Keys | undefined>>;
  /** Where the gateway counts usage; absent when it does not run here. */
  usage?: UsageSource | undefined;
  /** Whether assistants use keys of the monitoring service at `/mcp` here. */
  hasMcp?: boolean;
  /** Whether the bot asks a gateway at another address, which counts by itself. */
  asksElsewhere?: boolean;
  /** Where alerts of other systems come in, and where those reach the program. */
  intakes?: { intakes: Intakes; addressFor: AddressFor } | undefined;
}

const KeyPath = z.object({ service: ServiceName, id: z.string().min(1).max(100) });
const Nothing = z.strictObject({});
const ChannelsQuery = z.object({ days: Days });
const UsageQuery = z.object({
  days: Days,
  by: UsageBy.default('model'),
  /** One key alone. */
  key: z.string().min(1).max(100).optional(),
});

const DAY_MS = 86_400_000;

/** Facts about the bot that the account area shows, in every process. */
export interface BotFacts extends PlaceNames {
  /** Usage per person in all channels. */
  readonly usageLog: Pick<UsageLog, 'everywhere'>;
  /** The gateway's models. */
  readonly catalog: Pick<Catalog, 'models'>;
}

/** Adds what the account area talks to. */
export function addAccountRoutes(
  server: HttpServer,
  guards: Guards,
  account: Account,
  {
    botFacts,
    store,
    consoleChannels,
  }: {
    botFacts: BotFacts;
    store: Pick<Store, 'collection'>;
    /** The console's own channels. */
    consoleChannels: () => Promise<readonly string[]>;
  },
): void {
  const creations = store.collection(keyCreationsCollection);
  addKeyRoutes(server, guards, createAccountKeys(account, creations));
  if (account.intakes) {
    const { intakes, addressFor } = account.intakes;
    const own = createAccountIntakes(intakes, { names: botFacts, consoleChannels });
    addIntakeRoutes(server, guards, own, addressFor);
  }

  server.get(
    '/console/account/usage',
    guarded(guards.fetch, { querystring: UsageQuery, response: { 200: UsageAnswer } }),
    async ({ query }) => {
      const range = lastDays(query.days);
      const rows = (await account.usage?.(range)) ?? [];
      const names = new Map(account.keys.gateway?.list().map(({ id, name }) => [id, name]));
      const nameOf = (id: string) => names.get(id) ?? (id === OWN_KEY ? OWN_NAME : revoked(id));
      const notice = usageNotice(account);
      return {
        ...usageReport(rows, { range, by: query.by, keyId: query.key, nameOf }),
        ...(notice !== undefined && { notice }),
      };
    },
  );

  server.get(
    '/console/account/models',
    guarded(guards.fetch, { response: { 200: ModelsAnswer } }),
    async () => {
      const models = await botFacts.catalog.models().catch(explained);
      return modelsAnswer(models, account.asksElsewhere ?? false);
    },
  );

  server.get(
    '/console/account/channels',
    guarded(guards.fetch, { querystring: ChannelsQuery, response: { 200: ChannelsAnswer } }),
    async ({ query }) => await askedByChannel(botFacts, Date.now() - query.days * DAY_MS),
  );
}

const IntakePath = z.object({ id: z.string().min(1).max(100) });

function addIntakeRoutes(
  server: HttpServer,
  guards: Guards,
  intakes: ReturnType<typeof createAccountIntakes>,
  addressFor: AddressFor,
): void {
  server.get(
    '/console/account/intakes',
    guarded(guards.fetch, { response: { 200: IntakeList } }),
    async () => await intakes.list(),
  );
  server.post(
    '/console/account/intakes',
    guarded(guards.write, { body: NewIntake, response: { 201: MadeIntake } }),
    async (request, reply) => {
      const made = await intakes.add(request.body, addressFor(request));
      reply.code(201);
      return made;
    },
  );
  server.post(
    '/console/account/intakes/:id/remove',
    guarded(guards.write, { params: IntakePath, body: Nothing, response: { 200: Nothing } }),
    async ({ params: { id } }) => {
      await intakes.remove(id);
      return {};
    },
  );
}

function addKeyRoutes(server: HttpServer, guards: Guards, keys: AccountKeys): void {
  server.get(
    '/console/account/keys',
    guarded(guards.fetch, { response: { 200: KeyList } }),
    async () => await keys.list(),
  );
  server.post(
    '/console/account/keys',
    guarded(guards.write, { body: NewKey, response: { 201: MadeKey } }),
    async ({ body }, reply) => {
      const made = await keys.create(body);
      reply.code(201);
      return made;
    },
  );
  server.patch(
    '/console/account/keys/:service/:id',
    guarded(guards.write, { params: KeyPath, body: LimitsChange, response: { 200: ListedKey } }),
    async ({ params: { service, id }, body }) => await keys.limit(service, id, body),
  );
  server.post(
    '/console/account/keys/:service/:id/revoke',
    guarded(guards.write, { params: KeyPath, body: Nothing, response: { 200: Nothing } }),
    async ({ params: { service, id } }) => {
      await keys.revoke(service, id);
      return {};
    },
  );
}

/** The key with which the bot asks the embedded gateway; its id is its name. */
const OWN_KEY = 'bot';
const OWN_NAME = 'Askwatch itself';
const revoked = (id: string) => `${id} (revoked)`;

function usageNotice({ usage, asksElsewhere }: Account): string | undefined {
  if (!usage) {
    return "The model gateway doesn't run in this process (ASKWATCH_ROLES). Its usage is counted where it runs.";
  }
  return asksElsewhere
    ? 'Questions in channels go to the gateway at GATEWAY_BASE_URL and are counted there. This page counts only requests to the embedded gateway.'
    : undefined;
}

function explained(error: unknown): never {
  const sentence = explainError(error, 'model gateway');
  if (sentence === undefined) throw error;
  throw new HttpError(502, 'upstream_error', sentence, { cause: error });
}
