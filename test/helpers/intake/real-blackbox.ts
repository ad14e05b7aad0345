import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../postgres/server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { isInstalled, startProgram } from './real-program.ts';

/** Debian's package `prometheus-blackbox-exporter`. */
const PROGRAM = '/usr/bin/prometheus-blackbox-exporter';

/** True if blackbox_exporter is installed. CI must have it. */
export const hasBlackbox = isInstalled(PROGRAM);

const CONFIG = {
  modules: { http_2xx: { prober: 'http', timeout: '5s', http: { preferred_ip_protocol: 'ip4' } } },
};

/** Starts a blackbox_exporter that probes web addresses. */
export async function startBlackbox() {
  const folder = await temporaryFolder();
  const file = join(folder, 'blackbox.yml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(CONFIG));
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const args = [`--config.file=${file}`, `--web.listen-address=${address}`];
  await startProgram(PROGRAM, args, `${url}/-/healthy`);
  return {
    /** Returns the metric `probe_success` for an address. */
    async succeeds(target: string): Promise<boolean> {
      const answer = await fetch(
        `${url}/probe?${new URLSearchParams({ module: 'http_2xx', target })}`,
      );
      const text = await answer.text();
      const [, value] = /^probe_success (\d)$/m.exec(text) ?? [];
      if (value === undefined) throw new Error(`No probe_success of ${target}: ${text}`);
      return value === '1';
    },
  };
}
