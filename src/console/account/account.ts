import { z } from 'zod';
import type { ModelCatalog } from '../../bot/ask/catalog.ts';
import type { Intakes } from '../../bot/intake/intakes.ts';
import type { Store } from '../../bot/platform.ts';
import { explainError } from '../../bot/shared/explain-error.ts';
import type { UsageLog } from '../../bot/usage/usage-log.ts';
import { HttpError } from '../../http/errors.ts';
import type { AddressFor } from '../../http/public-address.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { type Guards, guarded } from '../login/guards.ts';
import {
  ChannelsAnswer,
  CreatedIntake,
  CreatedKey,
  Days,
  IntakeList,
  KeyList,
  KeyService,
  LimitsChange,
  ListedKey,
  ModelsAnswer,
  NewIntake,
  NewKey,
  UsageAnswer,
  UsageBy,
} from './api-types.ts';
import { askedByChannel } from './channels.ts';
import { createAccountIntakes, type PlaceNames } from './intakes.ts';
import { AccountKeys, type KeySources, keyCreationsCollection } from './keys.ts';
import { modelsAnswer } from './models.ts';
import { lastDays, usageReport } from './usage.ts';

/** The services in this process that the account area manages. */
export interface AccountServices extends KeySources {
  /** True if the bot uses a gateway at another address, with its own usage. */
  asksElsewhere?: boolean;
  /** Addresses for alerts from other systems. */
  intakes?: { intakes: Intakes; addressFor: AddressFor };
}

const KeyPath = z.object({ service: KeyService, id: z.string().min(1).max(100) });
const EmptyBody = z.strictObject({});
const ChannelsQuery = z.object({ days: Days });
const UsageQuery = z.object({
  days: Days,
  by: UsageBy.default('model'),
  key: z.string().min(1).max(100).optional(),
});

const DAY_MS = 86_400_000;

/** Facts about the bot, in every process. */
export interface BotFacts extends PlaceNames {
  /** Usage per person in all channels. */
  readonly usageLog: Pick<UsageLog, 'everywhere'>;
  /** The gateway's models. */
  readonly catalog: Pick<ModelCatalog, 'models'>;
}

export function addAccountRoutes(
  server: HttpServer,
  guards: Guards,
  account: AccountServices,
  {
    botFacts,
    store,
    consoleChannels,
  }: {
    botFacts: BotFacts;
    store: Pick<Store, 'collection'>;
    consoleChannels: () => Promise<readonly string[]>;
  },
): void {
  const creations = store.collection(keyCreationsCollection);
  addKeyRoutes(server, guards, new AccountKeys(account, creations));
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
      const report = usageReport(rows, { range, by: query.by, keyId: query.key, nameOf });
      return { ...report, notice };
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
    guarded(guards.write, { body: NewIntake, response: { 201: CreatedIntake } }),
    async (request, reply) => {
      const made = await intakes.add(request.body, addressFor(request));
      reply.code(201);
      return made;
    },
  );
  server.post(
    '/console/account/intakes/:id/remove',
    guarded(guards.write, { params: IntakePath, body: EmptyBody, response: { 200: EmptyBody } }),
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
    guarded(guards.write, { body: NewKey, response: { 201: CreatedKey } }),
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
    guarded(guards.write, { params: KeyPath, body: EmptyBody, response: { 200: EmptyBody } }),
    async ({ params: { service, id } }) => {
      await keys.revoke(service, id);
      return {};
    },
  );
}

/** The bot's own key for the embedded gateway. */
const OWN_KEY = 'bot';
const OWN_NAME = 'Askwatch itself';
const revoked = (id: string) => `${id} (revoked)`;

function usageNotice({ usage, asksElsewhere }: AccountServices): string | undefined {
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
