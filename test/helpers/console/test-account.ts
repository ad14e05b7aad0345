import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';
import { onTestFinished } from 'vitest';
import { accountIntakes } from '../../../src/app/features/account-intakes.ts';
import { createLog } from '../../../src/app/log.ts';
import { platforms } from '../../../src/app/platforms.ts';
import { createCatalog } from '../../../src/bot/ask/catalog.ts';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { createGatewayClient } from '../../../src/clients/gateway.ts';
import type { AccountServices, BotFacts } from '../../../src/console/account/account.ts';
import type { CreatedKey, KeyList, KeyService } from '../../../src/console/account/api-types.ts';
import type { UsageSource } from '../../../src/console/account/usage.ts';
import { createConsole } from '../../../src/console/console.ts';
import { Catalog } from '../../../src/gateway/catalog/catalog-schema.ts';
import { defaultCatalog } from '../../../src/gateway/catalog/default-catalog.ts';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { openKeys } from '../../../src/http/keys.ts';
import { createServer } from '../../../src/http/server.ts';
import { createMonitoring } from '../../../src/monitoring/monitoring.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startTestBot } from '../bot.ts';
import { NO_OLLAMA } from '../gateway/running-gateway.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';
import { sharedStore } from './shared-store.ts';
import { BUILT_PAGE } from './test-console.ts';

/**
 * The console with the real services on the same server, as the program has them, and the real bot behind it. The bot asks
 * that gateway, or the provider in its place.
 */
export async function startTestAccount(
  options: {
    without?: KeyService[];
    asksElsewhere?: boolean;
    hasMcp?: boolean;
    /** Usage of other days than today, which no call can make. */
    usage?: UsageSource;
    /** The console asks for it. */
    password?: string;
  } = {},
) {
  const { without = [], asksElsewhere = false, hasMcp = false, password } = options;
  const folder = await temporaryFolder();
  const logged: string[] = [];
  const log = createLog({ level: 'debug', secrets: [], write: (line) => void logged.push(line) });
  const store = sharedStore(await openTestStore({ folder, log }));
  const kit = await createServer({ log, version: '0.0.0' });
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };
  const runs = (service: KeyService) => !without.includes(service);
  const provider = await startModelProvider();
  const gateway = await createGateway({
    ...{ kit, keys: keys.gateway, catalog: Catalog.parse(defaultCatalog), store, log },
    // The built-in engine answers.
    providers: NO_OLLAMA,
    times: { graceMs: 0 },
  });
  const monitoring = await createMonitoring({
    ...{ kit, keys: keys.monitoring, store, log, allowPrivate: [], networkAnchors: [] },
    addressFor: () => '',
    version: '1.2.3',
  });
  const intakes = await createIntakes(store);
  const account: AccountServices = {
    intakes: { manage: accountIntakes(intakes), addressFor: () => 'https://askwatch.example' },
    keys: {
      ...(runs('gateway') && { gateway: keys.gateway }),
      ...(runs('monitoring') && { monitoring: keys.monitoring }),
    },
    ...(runs('gateway') && { usage: options.usage ?? gateway.usage }),
    ...{ asksElsewhere, hasMcp },
  };
  const channels = createChannels(store);
  const botFacts: BotFacts = {
    usageLog: { everywhere: (fromMs) => usageLog.everywhere(fromMs) },
    catalog: { models: () => catalog.models() },
    platformTitle: (name) => platforms.find((one) => one.name === name)?.title ?? name,
    channelName: ({ channel }) => console.channelName?.(channel),
    alertedPlaces: () => channels.places(),
  };
  const served = await createConsole({
    ...{ kit, store, botFacts, log, account, pageFolder: BUILT_PAGE },
    ...(password !== undefined && {
      login: { cost: 2 ** 10, password },
    }),
  });
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  const own = { url, apiKey: keys.gateway.createTransient('bot') };
  const asked = asksElsewhere ? provider : { ...provider, ...own };
  const client = createGatewayClient({ baseUrl: asked.url, apiKey: asked.apiKey });
  const catalog = createCatalog({ gateway: client, log });
  const { bot, usageLog, say, stop } = await startTestBot({
    ...{ store, provider: asked, intakes },
    // These tests need no alerts.
    settings: { alertPollMs: 60_000 },
  });
  const console = await served.createPlatform({ store, isHeld: () => true, log });
  await console.start(bot);
  await bot.start([console]);
  onTestFinished(async () => {
    await stop();
    await console.stop();
    await served.close();
    await client.close();
    await Promise.all([gateway.close(), monitoring.close()]);
    await kit.close();
    await store.close();
    await provider.close();
  });

  /** Asks the gateway one question with a key, as any other client does. */
  async function chat(key: string, model = 'fast-8k') {
    const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'hello' }];
    return await client.chat.completions.create({ model, messages });
  }
  return { url, folder, logged, store, keys, gateway, bot, say, console, provider, chat };
}

/** Asks the account area for something, as the page does. */
export async function fetchAccount<T>(url: string, path: string): Promise<T> {
  const response = await fetch(`${url}/console/account/${path}`);
  if (!response.ok) throw new Error(`Status ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Changes something in the account area, with the headers a browser adds. */
export function writeAccount(
  url: string,
  path: string,
  body: object,
  options: { method?: 'POST' | 'PATCH'; headers?: Record<string, string> } = {},
): Promise<Response> {
  const { method = 'POST', headers = {} } = options;
  return fetch(`${url}/console/account/${path}`, {
    method,
    headers: { 'content-type': 'application/json', origin: url, ...headers },
    body: JSON.stringify(body),
  });
}

/** Makes a key as the page does. */
export async function makeKey(
  url: string,
  wanted: Record<string, unknown> = {},
): Promise<CreatedKey> {
  const body = { id: randomUUID(), service: 'gateway', name: 'laptop', ...wanted };
  const response = await writeAccount(url, 'keys', body);
  if (response.status !== 201) {
    throw new Error(`Status ${response.status}: ${await response.text()}`);
  }
  return (await response.json()) as CreatedKey;
}

export const listKeys = (url: string) => fetchAccount<KeyList>(url, 'keys');
