import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isInstalled, startProgram } from '../intake/real-program.ts';
import { freePort } from '../postgres/server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Debian's package `prometheus`. */
const PROGRAM = '/usr/bin/prometheus';

/** True if Prometheus is installed. CI must have it. */
export const hasPrometheus = isInstalled(PROGRAM);

const Labels = z.record(z.string(), z.string());
const Alerts = z.object({
  alerts: z.array(z.object({ labels: Labels, annotations: Labels, state: z.string() })),
});
const Result = z.object({ result: z.array(z.object({ metric: Labels })) });

/** Scrapes the program each second with a key, and evaluates the shipped rules without their waits. */
export async function startPrometheus(target: string, key: string) {
  const folder = await temporaryFolder();
  const rules = readFileSync(
    new URL('../../../manifests/prometheus-rules.yaml', import.meta.url),
    'utf8',
  );
  await writeFile(join(folder, 'rules.yaml'), rules.replace(/^( +for:) .*/gm, '$1 1s'));
  await writeFile(join(folder, 'key'), key);
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'rules.yaml')],
    scrape_configs: [
      {
        job_name: 'askwatch',
        authorization: { credentials_file: join(folder, 'key') },
        static_configs: [{ targets: [new URL(target).host] }],
      },
    ],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ];
  await startProgram(PROGRAM, args, `${url}/-/ready`);

  async function ask<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T>> {
    const answer = await fetch(`${url}/api/v1/${path}`);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
    return schema.parse(JSON.parse(text).data);
  }

  return {
    async firing() {
      const { alerts } = await ask('alerts', Alerts);
      return alerts.filter(({ state }) => state === 'firing');
    },
    /** The labels of each series that a query returns. */
    async query(query: string) {
      const { result } = await ask(`query?${new URLSearchParams({ query })}`, Result);
      return result.map(({ metric }) => metric);
    },
  };
}
