import { execFile } from 'node:child_process';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchContext } from '../shared/area.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';
import { installPortkey, type Portkey } from './portkey.ts';
import { MODEL, PROVIDER_MODEL } from './requests.ts';

const run = promisify(execFile);

// This runs from dist/bench/, beside the program that it measures.
const DIST = fileURLToPath(new URL('..', import.meta.url));

const LISTENING = /listening on (\d+)\./;
const READY = /Services +http:\S+?:(\d+)\/v1 /;

/** Limits that nothing here reaches, so that the code that counts against them runs. */
const LIMITS = [
  ['--requests-per-minute', 1e9],
  ['--tokens-per-minute', 1e15],
  ['--tokens-per-day', 1e15],
  ['--tokens-per-month', 1e15],
]
  .flat()
  .map(String);

/** Starts the measured programs, a new process each time. */
export interface GatewayTargets {
  upstream: TargetProcess;
  /** The key that requests carry. */
  key: string;
  startReference(label: string): Promise<TargetProcess>;
  startAskwatch(label: string): Promise<TargetProcess>;
  /** Portkey's gateway, if requested. */
  portkey?: Portkey;
}

/** Starts the upstream, and prepares a data folder with a key for every start of Askwatch. */
export async function prepareTargets(context: BenchContext): Promise<GatewayTargets> {
  const { folder, cores, profile, note } = context;
  const prepared = join(folder, 'prepared');
  await mkdir(prepared);
  const key = await createKey(prepared, note);
  const catalog = join(folder, 'catalog.json');
  await writeFile(catalog, JSON.stringify({ models: catalogModels() }));
  const upstream = await startProcess({
    name: 'The upstream',
    args: [join(DIST, 'bench/gateway-upstream.js')],
    ready: LISTENING,
    core: cores.load,
  });

  const portkey =
    context.beside === 'portkey'
      ? await installPortkey(context, {
          upstreamPort: upstream.port,
          loopback: join(DIST, 'bench/gateway-loopback.js'),
          ready: LISTENING,
        })
      : undefined;

  const profiling = (label: string) =>
    profile === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${label}.cpuprofile`];

  return {
    upstream,
    key,
    portkey,
    startReference: (label) =>
      startProcess({
        name: 'The reference',
        args: [
          ...profiling(`reference-${label}`),
          join(DIST, 'bench/gateway-reference.js'),
          String(upstream.port),
        ],
        ready: LISTENING,
        core: cores.target,
      }),
    async startAskwatch(label) {
      const data = join(folder, `data-${label}`);
      await cp(prepared, data, { recursive: true });
      const started = await startProcess({
        name: 'Askwatch',
        args: [...profiling(`askwatch-${label}`), join(DIST, 'main.js')],
        ready: READY,
        core: cores.target,
        // A working folder without an .env file.
        cwd: folder,
        env: {
          ASKWATCH_ROLES: 'gateway',
          DATA_DIR: data,
          PORT: '0',
          ASKWATCH_CATALOG: catalog,
          OPENAI_API_KEY: 'sk-bench-0123456789',
          OPENAI_BASE_URL: `http://127.0.0.1:${upstream.port}/v1`,
          // A closed port, so that an Ollama on this machine isn't used.
          OLLAMA_BASE_URL: 'http://127.0.0.1:1',
        },
      });
      return {
        ...started,
        async stop() {
          await started.stop();
          await rm(data, { recursive: true, force: true });
        },
      };
    },
  };
}

function catalogModels() {
  return [
    { id: MODEL.flatOut, provider: PROVIDER_MODEL.flatOut },
    { id: MODEL.paced, provider: PROVIDER_MODEL.paced },
  ].map(({ id, provider }) => ({
    id,
    kind: 'text',
    context_length: 1_000_000,
    upstreams: [{ provider: 'openai', model: provider }],
  }));
}

async function createKey(data: string, note: (text: string) => void): Promise<string> {
  const create = async (limits: string[]) => {
    const args = ['keys', 'create', '--service', 'gateway', '--name', 'bench', ...limits];
    const { stdout } = await run(process.execPath, [join(DIST, 'cli.js'), ...args], {
      cwd: data,
      env: { PATH: process.env.PATH ?? '', DATA_DIR: data },
    });
    const key = /awg_[A-Za-z0-9]{40}/.exec(stdout)?.[0];
    if (!key) throw new Error(`keys create showed no key:\n${stdout}`);
    return key;
  };
  try {
    return await create(LIMITS);
  } catch (error) {
    const [why = ''] = String((error as { stderr?: unknown }).stderr ?? error).split('\n');
    note(
      `The key has no limits, so what they cost is not in the figures. keys create said: ${why}`,
    );
    return await create([]);
  }
}
