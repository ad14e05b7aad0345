import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';

const execute = promisify(execFile);

const require = createRequire(import.meta.url);

/** Not imported: Node would first search its three megabytes for the names of what they export. */
const { chromium } = require('playwright-core') as typeof import('playwright-core');

/**
 * The package's own arguments are for cloud functions: they put everything into one process, which dies with the first
 * closed page, and switch off the browser's security, which the tests are about.
 */
const ARGUMENTS = [
  '--no-sandbox',
  '--no-zygote',
  '--disable-gpu',
  '--disable-quic',
  // A name that is not this machine's own: over plain HTTP browsers give pages there less.
  '--host-resolver-rules=MAP console.test 127.0.0.1',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--font-render-hinting=none',
];

/**
 * Starts the Chromium that ships inside a package, or resolves to the reason why none can start here.
 * Close it when done.
 */
export async function startBrowser(): Promise<Browser | { unavailable: string }> {
  try {
    const folder = await unpackedBrowser();
    const executablePath = join(folder, 'chromium');
    const launch = (env: Record<string, string>) =>
      chromium.launch({
        executablePath,
        args: ARGUMENTS,
        headless: true,
        env: { ...process.env, ...env } as Record<string, string>,
      });
    try {
      return await launch({});
    } catch {
      // A bare machine lacks NSS and fonts; the package has them for one system, and mostly they fit others.
      return await launch({
        LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
        FONTCONFIG_PATH: join(folder, 'fonts'),
      });
    }
  } catch (error) {
    return { unavailable: error instanceof Error ? error.message : String(error) };
  }
}

/** Says in the test's output that browser tests do not run; what is skipped must not look like what has passed. */
export function warnWithoutBrowser(reason: string): void {
  const line = '!'.repeat(100);
  process.stderr.write(
    `\n${line}\nNo browser could start, so the console's browser tests are SKIPPED:\n${reason}\n${line}\n\n`,
  );
}

/**
 * The folder of the unpacked browser. The package unpacks to a fixed place and takes a half-written file for a whole
 * one, so each process unpacks to a place of its own, and the first to finish gives it the name that all use.
 */
async function unpackedBrowser(): Promise<string> {
  const entry = require.resolve('@sparticuz/chromium');
  const { version } = require(join(dirname(entry), '..', '..', 'package.json')) as {
    version: string;
  };
  const parent = join(tmpdir(), `askwatch-test-browser-${process.getuid?.() ?? 'user'}`);
  const folder = join(parent, version);
  if (existsSync(folder)) return folder;
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const unpacking = await mkdtemp(join(parent, 'unpacking-'));
  try {
    await execute(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`,
      ],
      // In the package's own folder it is found from wherever this runs. The second variable has it unpack its libraries too.
      {
        cwd: dirname(entry),
        env: { ...process.env, TMPDIR: unpacking, AWS_EXECUTION_ENV: 'nodejs20.x' },
      },
    );
    await rename(unpacking, folder);
  } catch (error) {
    await rm(unpacking, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
