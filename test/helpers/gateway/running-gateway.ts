import OpenAI from 'openai';
import { onTestFinished } from 'vitest';
import { createLog } from '../../../src/app/log.ts';
import { type CatalogInput, catalogSchema } from '../../../src/gateway/catalog/catalog-schema.ts';
import { defaultCatalog } from '../../../src/gateway/catalog/default-catalog.ts';
import { createGateway, type GatewayTimes } from '../../../src/gateway/gateway.ts';
import type { ProviderTable } from '../../../src/gateway/providers/provider.ts';
import {
  PROVIDER_TABLE,
  type ProviderName,
} from '../../../src/gateway/providers/provider-table.ts';
import type { ProviderSettings } from '../../../src/gateway/providers/providers.ts';
import { requestsIn, type UsageBatch } from '../../../src/gateway/usage/journal.ts';
import { openKeys } from '../../../src/http/keys.ts';
import { createServer } from '../../../src/http/server.ts';
import type { Journal, Store } from '../../../src/store/store.ts';
import type { UsageRecord } from '../../../src/store/usage.ts';
import {
  type ModelProvider,
  type ModelProviderOptions,
  startModelProvider,
} from '../../fakes/model-provider.ts';
import { eventually } from '../eventually.ts';
import { openTestStore } from '../test-store.ts';

/** An Ollama on the machine of the test is not looked for. */
export const NO_OLLAMA = { ollama: false } as const;

/** A text model of a catalog, with the providers that are asked for it. */
export const textModel = (
  id: string,
  ...providers: Array<string | [name: string, model: string]>
) => ({
  id,
  kind: 'text' as const,
  context_length: 4096,
  upstreams: providers.map((each) => {
    const [provider, model = 'test-model'] = [each].flat();
    return { provider: provider as ProviderName, model };
  }),
});

/** A small catalog whose text models lead to a fake provider standing for OpenAI, and then to one standing for Groq. */
export const testCatalog: CatalogInput = {
  models: [
    textModel('one', 'openai'),
    textModel('two', 'openai', 'groq'),
    textModel('single', 'groq'),
    { ...textModel('seeing', ['openai', 'test-vision']), input: ['text', 'image'] },
    textModel('unconnected'),
    { id: 'painter', kind: 'image', resolutions: ['1024x1024'] },
  ],
};

/** Starts fake providers in the places of OpenAI and Groq, and a gateway over them. */
export async function startWithProviders(times: Partial<GatewayTimes> = {}) {
  const openai = await startFake();
  const groq = await startFake({ apiKey: 'groq-key-0123456789' });
  const running = await startGateway({
    catalog: testCatalog,
    providers: {
      ...NO_OLLAMA,
      openai: { apiKey: openai.apiKey, baseUrl: `${openai.url}/v1` },
      groq: { apiKey: groq.apiKey, baseUrl: `${groq.url}/v1/` },
    },
    times,
  });
  return { ...running, openai, groq };
}

/** A fake provider that runs until the test has finished. */
export async function startFake(options: ModelProviderOptions = {}): Promise<ModelProvider> {
  const provider = await startModelProvider(options);
  onTestFinished(() => provider.close());
  return provider;
}

/** Starts the gateway over the real server, store and keys; the shipped catalog and no provider unless told otherwise. */
export async function startGateway(
  options: {
    catalog?: CatalogInput;
    providers?: ProviderSettings;
    /** Table of providers; the program's own if absent. */
    table?: ProviderTable;
    times?: Partial<GatewayTimes>;
    trustedProxies?: readonly string[];
    /** Store shared with other gateways, closed by the test; a new one if absent. */
    store?: Store;
  } = {},
) {
  const { trustedProxies = [], table = PROVIDER_TABLE } = options;
  const logged: string[] = [];
  const log = createLog({ level: 'debug', secrets: [], write: (line) => void logged.push(line) });
  const store = options.store ?? (await openTestStore({ log }));
  const kit = await createServer({ log, version: '0', trustedProxies });
  const keys = await openKeys(store, 'gateway');
  // A journal is asked for once, so the gateway's own is kept for looking into.
  let journal: Journal<UsageBatch> | undefined;
  const gateway = await createGateway({
    kit,
    keys,
    catalog: catalogSchema(Object.keys(table)).parse(options.catalog ?? defaultCatalog),
    providers: options.providers ?? NO_OLLAMA,
    table,
    store: {
      ...store,
      journal(declaration) {
        const opened = store.journal(declaration);
        journal = opened as unknown as Journal<UsageBatch>;
        return opened;
      },
    },
    times: { graceMs: 0, ...options.times },
    log,
  });
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await gateway.close();
    await kit.close();
    if (!options.store) await store.close();
  });
  const { key, id } = await keys.create('test');
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });

  /** The usage records, once there are so many. */
  async function usage(count: number): Promise<UsageRecord[]> {
    return await eventually(
      async () => {
        const records: UsageRecord[] = [];
        for await (const entry of journal?.read() ?? []) records.push(...requestsIn(entry));
        return records.length >= count ? records : undefined;
      },
      { what: `${count} usage records` },
    );
  }

  /** Sends a chat request as it is and gives status, headers and body. */
  async function post(body: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  return { url, key, keyId: id, keys, kit, gateway, client, logged, usage, post };
}

/** Reads a stream to its end; the error it ended with stays with the chunks that came. */
export async function readStream(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  let error: unknown;
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch (caught) {
    error = caught;
  }
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  return { chunks, text, error };
}
