import { fileURLToPath } from 'node:url';
import { Catalog, textModels } from '../../src/gateway/catalog.ts';
import { defaultCatalog } from '../../src/gateway/default-catalog.ts';
import { askwatchReady } from '../bench/askwatch-process.ts';
import { startProcess } from '../bench/target-process.ts';
import { type ModelProvider, startModelProvider } from '../fakes/model-provider.ts';

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
    // Its working folder has no .env file.
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
