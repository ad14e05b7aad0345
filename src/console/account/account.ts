import { z } from 'zod';
import type { ModelCatalog } from '../../bot/ask/catalog.ts';
import { explainError } from '../../bot/shared/explain-error.ts';
import type { UsageLog } from '../../bot/usage/usage-log.ts';
import { HttpError } from '../../http/errors.ts';
import type { AddressFor } from '../../http/public-address.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { type Guards, guarded } from '../login/guards.ts';
import {
  type CreatedIntake,
  Days,
  type IntakeList,
  KeyService,
  LimitsChange,
  NewIntake,
  NewKey,
  type UsageAnswer,
  UsageBy,
} from './api-types.ts';
import { askedByChannel, type PlaceNames } from './channels.ts';
import { AccountKeys, type KeySources } from './keys.ts';
import { modelsAnswer } from './models.ts';
import { lastDays, usageReport } from './usage.ts';

/** Manages the intakes of all channels. Everything throws `HttpError`. */
export type ManageIntakes = (known: {
  names: PlaceNames;
  consoleChannels: () => Promise<readonly string[]>;
}) => {
  list(): Promise<IntakeList>;
  /** Creates an intake. The sender reaches the program at `baseUrl`. */
  add(intake: NewIntake, baseUrl: string): Promise<CreatedIntake>;
  remove(id: string): Promise<void>;
};

/** The services in this process that the account area manages. */
export interface AccountServices extends KeySources {
  /** True if the bot uses a gateway at another address, with its own usage. */
  asksElsewhere?: boolean;
  /** Addresses for alerts from other systems. */
  intakes?: { manage: ManageIntakes; addressFor: AddressFor };
}

const KeyPath = z.object({ service: KeyService, id: z.string().min(1).max(100) });
const EmptyBody = z.strictObject({});
const UsageQuery = z.object({
  days: Days,
  by: UsageBy.default('model'),
  key: z.string().min(1).max(100).optional(),
});

const DAY_MS = 86_400_000;

/** Facts about the bot, in every process. */
export interface BotFacts extends PlaceNames {
  readonly usageLog: Pick<UsageLog, 'everywhere'>;
  readonly catalog: Pick<ModelCatalog, 'models'>;
}

export function addAccountRoutes(
  server: HttpServer,
  guards: Guards,
  account: AccountServices,
  bot: { botFacts: BotFacts; consoleChannels: () => Promise<readonly string[]> },
): void {
  const { botFacts, consoleChannels } = bot;
  addKeyRoutes(server, guards, new AccountKeys(account));
  if (account.intakes) {
    const { manage, addressFor } = account.intakes;
    addIntakeRoutes(server, guards, manage({ names: botFacts, consoleChannels }), addressFor);
  }

  const days = { querystring: z.object({ days: Days }) };
  server.get(
    '/console/account/usage',
    guarded(guards.fetch, { querystring: UsageQuery }),
    async ({ query }): Promise<UsageAnswer> => {
      const range = lastDays(query.days);
      const rows = (await account.usage?.(range)) ?? [];
      const names = new Map(account.keys.gateway?.list().map(({ id, name }) => [id, name]));
      const nameOf = (id: string) => names.get(id) ?? (id === OWN_KEY ? OWN_NAME : revoked(id));
      const notice = usageNotice(account);
      const report = usageReport(rows, { range, by: query.by, keyId: query.key, nameOf });
      return { ...report, notice };
    },
  );
  server.get('/console/account/models', guarded(guards.fetch), async () => {
    const models = await botFacts.catalog.models().catch(explained);
    return modelsAnswer(models, account.asksElsewhere ?? false);
  });
  server.get(
    '/console/account/channels',
    guarded(guards.fetch, days),
    async ({ query }) => await askedByChannel(botFacts, Date.now() - query.days * DAY_MS),
  );
}

const IntakePath = z.object({ id: z.string().min(1).max(100) });

function addIntakeRoutes(
  server: HttpServer,
  guards: Guards,
  intakes: ReturnType<ManageIntakes>,
  addressFor: AddressFor,
): void {
  const path = '/console/account/intakes';
  server.get(path, guarded(guards.fetch), async () => await intakes.list());
  server.post(path, guarded(guards.write, { body: NewIntake }), async (request, reply) => {
    const made = await intakes.add(request.body, addressFor(request));
    reply.code(201);
    return made;
  });
  server.post(
    `${path}/:id/remove`,
    guarded(guards.write, { params: IntakePath, body: EmptyBody }),
    async ({ params: { id } }) => {
      await intakes.remove(id);
      return {};
    },
  );
}

function addKeyRoutes(server: HttpServer, guards: Guards, keys: AccountKeys): void {
  const path = '/console/account/keys';
  server.get(path, guarded(guards.fetch), async () => await keys.list());
  server.post(path, guarded(guards.write, { body: NewKey }), async ({ body }, reply) => {
    const made = await keys.create(body);
    reply.code(201);
    return made;
  });
  server.patch(
    `${path}/:service/:id`,
    guarded(guards.write, { params: KeyPath, body: LimitsChange }),
    async ({ params: { service, id }, body }) => await keys.limit(service, id, body),
  );
  server.post(
    `${path}/:service/:id/revoke`,
    guarded(guards.write, { params: KeyPath, body: EmptyBody }),
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
