import { spawn, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { freePort } from '../../helpers/postgres/server.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { folderOnDisk, temporaryFolder } from '../../helpers/temporary-folder.ts';

const hasCaddy = spawnSync('caddy', ['version']).status === 0;
if (!hasCaddy) process.stderr.write('\nSKIPPED: the test of the proxy. It needs caddy.\n\n');

/** In the metrics of a program: it has answered what is asked through the proxy. */
const ANSWERED =
  /^askwatch_http_request_seconds_count\{[^}]*"\/v1\/chat\/completions"[^}]*\} [1-9]/m;

/** Two programs as compose.yaml starts them, on ports of this machine, and the port of the proxy in front. */
async function startAll() {
  const { url, schema } = await testDatabase();
  const port = await freePort();
  const address = `https://localhost:${port}`;
  const env = {
    ...{ DATABASE_URL: url, DATABASE_SCHEMA: schema, CONSOLE_PASSWORD: 'correct horse battery' },
    ...{ PUBLIC_URL: address, TRUSTED_PROXIES: '127.0.0.1' },
  };
  const start = async (port: string) =>
    await startAskwatch({ dataDir: await temporaryFolder(), env: { ...env, PORT: port } });
  const both = [await start('0'), await start('0')];
  const proxy = await startCaddy(
    address,
    both.map((one) => new URL(one.url).host),
  );
  return {
    ...{ both, proxy, address },
    /** Starts one again where it was. */
    async startAgain(at: number) {
      both[at] = await start(new URL(both[at]?.url ?? '').port);
    },
  };
}

/** Runs Caddy with the Caddyfile of compose.yaml, for these addresses. */
async function startCaddy(address: string, upstreams: string[]) {
  const folder = await folderOnDisk();
  const { configs } = parse(
    await readFile(new URL('../../../compose.yaml', import.meta.url), 'utf8'),
    { merge: true },
  );
  const written: string = configs.caddyfile.content;
  const caddyfile = written
    .replace(/\$\{PUBLIC_URL:-[^}]*\}/, address)
    .replace('askwatch-1:3000 askwatch-2:3000', upstreams.join(' '));
  expect(caddyfile).not.toMatch(/askwatch-\d|\$\{/);
  // Caddy must not change the machine's shared state.
  const own = '{\nadmin off\nauto_https disable_redirects\nskip_install_trust\n}\n';
  await writeFile(join(folder, 'Caddyfile'), own + caddyfile);
  const child = spawn('caddy', ['run', '--config', 'Caddyfile'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, XDG_DATA_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (data: Buffer) => {
    output += String(data);
  });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill()) await ended;
  });
  const root = join(folder, 'caddy/pki/authorities/local/root.crt');
  const ca = await eventually(async () => {
    if (child.exitCode !== null) throw new Error(output);
    const written = await readFile(root, 'utf8').catch(() => '');
    return written.includes('END CERTIFICATE') && written;
  });
  /** The status of an answer and its text. */
  return async (path: string, headers: Record<string, string> = {}, body?: unknown) => {
    if (child.exitCode !== null) throw new Error(`The proxy ended: ${output}`);
    const made = request(address + path, {
      ...{ ca, headers, agent: false },
      ...(body === undefined ? {} : { method: 'POST' }),
    });
    made.end(body === undefined ? undefined : JSON.stringify(body));
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      made.once('response', resolve).once('error', reject),
    );
    return { status: answer.statusCode, text: await text(answer) };
  };
}

describe.skipIf(!hasPostgres || (!hasCaddy && !process.env.CI))(
  'behind the proxy of compose.yaml',
  () => {
    test('every request is answered while one process after the other is stopped and started again', async () => {
      const { both, proxy, address, startAgain } = await startAll();
      const monitoring = (await both[0]?.createKey('monitoring')) ?? '';
      const gateway = (await both[0]?.createKey('gateway')) ?? '';
      await eventually(async () => {
        expect(await proxy('/readyz')).toMatchObject({ status: 200 });
        return true;
      });

      const job = { name: 'Job', target: 'job', check_type: 'HEARTBEAT' };
      const headers = { 'x-api-key': monitoring, 'content-type': 'application/json' };
      const made = JSON.parse((await proxy('/api/v1/public/monitors', headers, job)).text);
      expect(made.push_url.startsWith(`${address}/`)).toBe(true);

      let goesOn = true;
      let answered = 0;
      const others: string[] = [];
      const asking = [1, 2, 3].map(async () => {
        while (goesOn) {
          const { status, text } = await proxy(
            '/v1/chat/completions',
            { authorization: `Bearer ${gateway}`, 'content-type': 'application/json' },
            { model: 'small-4k', messages: [{ role: 'user', content: 'Hello' }] },
          );
          if (status === 200) answered += 1;
          else others.push(`${status} ${text}`);
        }
      });
      const someMore = async () => {
        const before = answered;
        await eventually(() => answered > before + 30);
      };
      // Until then the proxy does not know of it, and has none when the other one stops.
      const takesPart = async (at: number) => {
        await eventually(async () => {
          const metrics = await (await fetch(`${both[at]?.url}/metrics`)).text();
          return ANSWERED.test(metrics);
        });
      };
      await takesPart(1);
      for (const at of [0, 1]) {
        await someMore();
        expect(await both[at]?.stop()).toBe(0);
        await someMore();
        await startAgain(at);
        await takesPart(at);
      }
      goesOn = false;
      await Promise.all(asking);
      expect(others).toEqual([]);
    });
  },
);
