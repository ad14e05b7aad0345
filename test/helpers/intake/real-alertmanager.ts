import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { freePort } from '../postgres/server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { isInstalled, startProgram } from './real-program.ts';

/** Debian's package `prometheus-alertmanager`. */
const PROGRAM = '/usr/bin/prometheus-alertmanager';

/** True if Alertmanager is installed. CI must have it. */
export const hasAlertmanager = isInstalled(PROGRAM);

/** Configuration without notifications. */
const SILENT = 'route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n';

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

/** An alert as Prometheus sends it. Source: Alertmanager's `POST /api/v2/alerts`. */
export interface ToldAlert {
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  startsAt: string;
  /** In the future the lease of one that fires; in the past it is resolved. */
  endsAt: string;
}

/** Starts an Alertmanager with the text of a configuration file, JSON or YAML. */
export async function startAlertmanager({ config = SILENT } = {}) {
  const folder = await temporaryFolder();
  const file = join(folder, 'alertmanager.yml');
  await writeFile(file, config);
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const args = [
    `--config.file=${file}`,
    `--storage.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
    '--cluster.listen-address=',
  ];
  await startProgram(PROGRAM, args, `${url}/-/ready`);
  return {
    url,
    async silences() {
      const answer = await fetch(`${url}/api/v2/silences`);
      return Silences.parse(await answer.json()).map(({ status, ...silence }) => ({
        ...silence,
        state: status.state,
      }));
    },
    /** Has it go by another configuration. */
    async configure(next: string): Promise<void> {
      await writeFile(file, next);
      const answer = await fetch(`${url}/-/reload`, { method: 'POST' });
      if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    },
    /** Tells it of alerts, as Prometheus does again and again; times that are left out it makes itself. */
    async tell(alerts: ReadonlyArray<Partial<ToldAlert>>): Promise<void> {
      const answer = await fetch(`${url}/api/v2/alerts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(alerts),
      });
      if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    },
  };
}
