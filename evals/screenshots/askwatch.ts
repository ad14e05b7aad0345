import { fileURLToPath } from 'node:url';
import { askwatchReady } from '../../bench/shared/askwatch-process.ts';
import { startProcess } from '../../bench/shared/target-process.ts';
import { textModels } from '../../src/gateway/catalog/catalog.ts';
import { Catalog } from '../../src/gateway/catalog/catalog-schema.ts';
import { defaultCatalog } from '../../src/gateway/catalog/default-catalog.ts';
import { type ModelProvider, startModelProvider } from '../../test/fakes/model-provider.ts';

/** This runs from dist/screenshots/. */
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));

export interface PicturedAskwatch {
  url: string;
  /** Answers its questions, whatever model is asked. */
  provider: ModelProvider;
  stop(): Promise<void>;
}

/** Starts the whole program on a data folder, which may check this machine, and whose model is a made-up one. */
export async function startAskwatch(data: string): Promise<PicturedAskwatch> {
  const upstreams = textModels(Catalog.parse(defaultCatalog)).flatMap((one) => one.upstreams);
  const provider = await startModelProvider({ models: upstreams.map(({ model }) => model) });
  const server = await startProcess({
    name: 'Askwatch',
    args: [PROGRAM],
    ready: new RegExp(askwatchReady),
    core: undefined,
    // A working folder without an .env file.
    cwd: data,
    env: {
      ...{ DATA_DIR: data, PORT: '0', LOG_LEVEL: 'warn', ALERT_POLL_SECONDS: '1' },
      ...{ MONITOR_ALLOW_PRIVATE: '127.0.0.0/8,::1/128' },
      ...{ OPENAI_API_KEY: provider.apiKey, OPENAI_BASE_URL: `${provider.url}/v1` },
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    provider,
    async stop() {
      await server.stop();
      await provider.close();
    },
  };
}
