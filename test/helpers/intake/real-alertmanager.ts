import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Debian's package `prometheus-alertmanager`. */
const PROGRAM = '/usr/bin/prometheus-alertmanager';

/** Whether tests with a real Alertmanager run here; in CI they must. */
export const hasAlertmanager = existsSync(PROGRAM) || Boolean(process.env.CI);

if (!hasAlertmanager) {
  console.warn(`${PROGRAM} is missing, so tests with a real Alertmanager are skipped.`);
}

const Silences = z.array(
  z.object({
    id: z.string(),
    comment: z.string(),
    createdBy: z.string(),
    endsAt: z.string(),
    matchers: z.array(
      z.object({ name: z.string(), value: z.string(), isRegex: z.boolean(), isEqual: z.boolean() }),
    ),
    status: z.object({ state: z.string() }),
  }),
);

/** Starts an Alertmanager that tells nobody of anything. */
export async function startAlertmanager() {
  const folder = await temporaryFolder();
  const config = join(folder, 'alertmanager.yml');
  await writeFile(config, 'route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n');
  const port = await freePort();
  const child = spawn(
    PROGRAM,
    [
      `--config.file=${config}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    const ready = await fetch(`${url}/-/ready`).catch(() => undefined);
    return ready?.ok;
  });
  return {
    url,
    async silences() {
      const answer = await fetch(`${url}/api/v2/silences`);
      return Silences.parse(await answer.json()).map(({ status, ...silence }) => ({
        ...silence,
        state: status.state,
      }));
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('There is no free port.');
  return address.port;
}
