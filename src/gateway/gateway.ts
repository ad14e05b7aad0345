import type { Logger } from 'pino';
import { Agent, Pool } from 'undici';
import { OFFLINE_PROVIDER, StreamStallMs } from '../contracts/gateway.ts';
import { createAuthentication } from '../http/authentication.ts';
import type { Keys } from '../http/keys.ts';
import type { ServerKit } from '../http/server.ts';
import type { Store } from '../store/store.ts';
import type { UsageQuery, UsageRow } from '../store/usage.ts';
import { textModels } from './catalog/catalog.ts';
import type { Catalog } from './catalog/catalog-schema.ts';
import { addChat } from './chat/chat.ts';
import { addModels } from './models/models.ts';
import { type ListTimes, refreshServedModels } from './models/served-models-refresh.ts';
import type { ProviderTable } from './providers/provider.ts';
import { PROVIDER_TABLE } from './providers/provider-table.ts';
import {
  configuredProviders,
  findProviders,
  type ProviderSettings,
} from './providers/providers.ts';
import { CircuitBreaker } from './upstreams/circuit-breaker.ts';
import type { UpstreamTimeouts } from './upstreams/http-upstream.ts';
import { createRouting } from './upstreams/routing.ts';
import { createUsageLedger } from './usage/ledger.ts';
import { addUsageRoute } from './usage/route.ts';

/** The model gateway while it serves. */
export interface Gateway {
  /** Names and describes the provider that answers for the first served text model; `notes` warn about the others. */
  answering(): { provider: string; description: string; notes?: string[] };
  /** Returns the usage by day, key and model. */
  usage(query: UsageQuery): Promise<UsageRow[]>;
  /** Lets answers in progress end, but not for long, and closes the connections to the providers. */
  close(): Promise<void>;
}

/** Times of the gateway, milliseconds. */
export interface GatewayTimes extends UpstreamTimeouts, ListTimes {
  /** Time between two comments while the client waits; proxies commonly close connections after 60 s of silence. */
  pingMs: number;
  /** A client that reads nothing for this long is treated as gone. */
  drainMs: number;
  /** Time that `close` leaves to answers in progress. */
  graceMs: number;
}

const TIMES: GatewayTimes = {
  listMs: 1_000,
  listAgainMs: 10_000,
  listFreshMs: 300_000,
  answerMs: 600_000,
  firstChunkMs: 180_000,
  stallMs: StreamStallMs.provider,
  pingMs: 15_000,
  drainMs: 60_000,
  graceMs: 2_000,
};

/** Connections to providers. Our own times limit the waiting, because undici's start again with every byte. */
const CONNECTIONS = {
  /** Per provider. */
  connections: 256,
  connect: { timeout: 5_000 },
  headersTimeout: 0,
  bodyTimeout: 0,
};

/** Adds the model gateway to the server: GET /v1/models, GET /v1/models/:id, GET /v1/usage, POST /v1/chat/completions. */
export async function createGateway(options: {
  kit: ServerKit;
  keys: Keys;
  catalog: Catalog;
  providers: ProviderSettings;
  /** Known providers; by default this program's table. */
  table?: ProviderTable;
  store?: Store;
  times?: Partial<GatewayTimes>;
  log: Logger;
}): Promise<Gateway> {
  const { kit, keys, catalog, table = PROVIDER_TABLE, log } = options;
  const times = { ...TIMES, ...options.times };
  const providers = await findProviders(options.providers, table);
  const agent = new Agent(CONNECTIONS);
  // Calls use pools, because an agent searches for the pool of an address with every request.
  const pools = new Map<string, Pool>();
  function connect(origin: string): Pool {
    const pool = pools.get(origin) ?? new Pool(origin, CONNECTIONS);
    pools.set(origin, pool);
    return pool;
  }
  const set = configuredProviders(options.providers);
  const routing = createRouting({
    catalog,
    providers,
    set,
    table,
    connect,
    timeouts: times,
  });
  const lists = await refreshServedModels({
    providers,
    table,
    settings: options.providers,
    catalog,
    dispatcher: agent,
    onChange: routing.renew,
    times,
    log,
  });
  for (const [name, { local, title, setting }] of Object.entries(table)) {
    if (!local || !set.has(name) || providers.has(name)) continue;
    log.warn(`${title} did not answer at ${setting}, or has no model installed; retrying`);
  }
  const circuitBreaker = new CircuitBreaker({ metrics: kit.metrics, log });
  const ledger = await createUsageLedger({ store: options.store, metrics: kit.metrics, log });
  const { server } = kit;
  const authenticate = createAuthentication(keys, { acceptApiKeyHeader: false });
  addModels({ server, authenticate, catalog, routing, table });
  addUsageRoute({ server, authenticate, ledger });
  const chat = addChat({
    kit,
    authenticate,
    catalog,
    routing,
    circuitBreaker,
    ledger,
    pingMs: times.pingMs,
    drainMs: times.drainMs,
    log,
  });

  return {
    answering() {
      const models = textModels(catalog);
      const notes = lists.notes();
      const warnings = notes.length > 0 ? { notes } : {};
      const [first] = models.flatMap((model) => routing.upstreamsOf(model));
      if (!first) {
        const [why] = models.map((model) => routing.unservedReason(model));
        return { provider: OFFLINE_PROVIDER, description: `none: ${why}`, ...warnings };
      }
      const provider = providers.get(first.provider);
      if (!provider) {
        return {
          provider: OFFLINE_PROVIDER,
          description:
            "none (built-in offline engine). Set OPENAI_API_KEY or another provider's key for real answers.",
        };
      }
      const service = provider.isElsewhere ? 'the service at OPENAI_BASE_URL' : provider.title;
      return { provider: provider.name, description: `${service} (${first.model})`, ...warnings };
    },
    usage: ledger.summary,
    async close() {
      lists.stop();
      await chat.close(times.graceMs);
      await ledger.close();
      await Promise.all([agent, ...pools.values()].map((one) => one.destroy()));
    },
  };
}
