import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ModelProvider } from '../../test/fakes/model-provider.ts';
import type { BenchContext } from './area.ts';
import { startProcess, type TargetProcess } from './target-process.ts';

// This runs from dist/bench/, beside the program that it measures.
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));
/** Matches the banner, which has the port. */
export const askwatchReady = 'Services +http:\\S+?:(\\d+)/v1 ';

const STEP_MS = 100;

/** Starts the program on new data, with a model provider of the bench for its gateway. */
export async function startAskwatch(
  { folder, cores, profile }: BenchContext,
  options: {
    platform: Record<string, string>;
    provider: ModelProvider;
    nodeArgs?: string[];
    ready?: RegExp;
  },
): Promise<TargetProcess> {
  const { platform, provider, nodeArgs = [], ready = new RegExp(askwatchReady) } = options;
  const data = await mkdtemp(join(folder, 'askwatch-'));
  return await startProcess({
    name: 'Askwatch',
    args: [...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []), ...nodeArgs, PROGRAM],
    ready,
    core: cores.target,
    // A working folder without an .env file.
    cwd: data,
    env: {
      ...{ DATA_DIR: data, PORT: '0', LOG_LEVEL: 'warn', ASKWATCH_ROLES: 'bot,monitoring' },
      ...{ GATEWAY_BASE_URL: provider.url, GATEWAY_API_KEY: provider.apiKey },
      ...platform,
    },
  });
}

/** Waits beside a program; throws when it takes longer than `limitMs`, or the program has ended. */
export const waitBeside =
  (server: TargetProcess, limitMs: number) => async (what: string, condition: () => boolean) => {
    const deadlineMs = performance.now() + limitMs;
    while (!condition()) {
      server.checkAlive();
      if (performance.now() > deadlineMs) throw new Error(`Waited in vain for ${what}.`);
      await pause(STEP_MS);
    }
  };
