import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BenchContext } from '../shared/area.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';

const run = promisify(execFile);

const PACKAGE = '@portkey-ai/gateway';
const VERSION = '1.15.2';
/** With later ones its streaming does not run. */
const OVERRIDES = { '@hono/node-server': '1.13.8' };

const INSTALL_LIMIT_MS = 120_000;

/** Portkey's gateway, as the bench starts it. */
export interface Portkey {
  /** Headers that route a request to the upstream. */
  headers: Record<string, string>;
  start(): Promise<TargetProcess>;
}

/** Installs the gateway into the bench's folder. Throws when npm cannot. */
export async function installPortkey(
  { folder, cores, progress, note }: BenchContext,
  options: { upstreamPort: number; loopback: string; ready: RegExp },
): Promise<Portkey> {
  const { upstreamPort, loopback, ready } = options;
  const home = join(folder, 'portkey');
  progress(`installing ${PACKAGE} ${VERSION}`);
  await mkdir(home);
  const manifest = { private: true, dependencies: { [PACKAGE]: VERSION }, overrides: OVERRIDES };
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest));
  try {
    const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
    await run('npm', ['install', '--prefix', home, ...quietly], {
      cwd: home,
      timeout: INSTALL_LIMIT_MS,
    });
  } catch (cause) {
    const why = (cause as { stderr?: string }).stderr || (cause as Error).message;
    throw new Error(`npm could not install ${PACKAGE} ${VERSION}:\n${why.trimEnd()}`, { cause });
  }
  note(`Portkey's gateway is ${PACKAGE} ${VERSION}, without its log page, in production mode.`);
  const program = join(home, 'node_modules', PACKAGE, 'build/start-server.js');
  return {
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
    },
    start: () =>
      startProcess({
        name: "Portkey's gateway",
        args: ['--import', loopback, program, '--headless', '--port=0'],
        ready,
        core: cores.target,
        cwd: home,
        env: { NODE_ENV: 'production' },
      }),
  };
}
