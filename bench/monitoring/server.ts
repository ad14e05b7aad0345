import { request } from 'undici';
import { z } from 'zod';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';
import type { ArrivalTimes, Seen } from './arrivals.ts';
import type { Upstream } from './hosts.ts';

const READY = /Services +http:\S+?:(\d+)\/v1 /;

/** Starts the monitoring service on a data folder. */
export async function startMonitoring(options: {
  dist: string;
  folder: string;
  authority: string;
  core: number | undefined;
  nodeArgs: string[];
}): Promise<TargetProcess> {
  const { dist, folder, authority, core, nodeArgs } = options;
  return await startProcess({
    name: 'Askwatch',
    args: [...nodeArgs, `${dist}/main.js`],
    ready: READY,
    core,
    // A working folder without an .env file.
    cwd: folder,
    env: {
      ASKWATCH_ROLES: 'monitoring',
      MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
      DATA_DIR: folder,
      PORT: '0',
      NODE_EXTRA_CA_CERTS: authority,
    },
  });
}

/** One line of `/metrics`. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads the service's metrics. Source: Prometheus, "Text-based format". */
export async function scrape(port: number): Promise<Sample[]> {
  const text = await get(port, '/metrics');
  return [...text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text]),
      ),
      value: Number(value),
    }),
  );
}

/** Checks done so far, by how they ended. */
export async function checksDone(port: number): Promise<Map<string, number>> {
  const done = new Map<string, number>();
  for (const { name, labels, value } of await scrape(port)) {
    if (name !== 'askwatch_checks_total') continue;
    const outcome = labels.outcome ?? '';
    done.set(outcome, (done.get(outcome) ?? 0) + value);
  }
  return done;
}

/** Describes the lag that the service reports. */
export async function ownLag(port: number): Promise<string> {
  const lags = (await scrape(port)).filter(
    ({ name }) => /^askwatch_check_lag/.test(name) && !/_(bucket|sum|count)$/.test(name),
  );
  if (lags.length === 0) return 'it tells nothing of its lag';
  return lags
    .map(({ name, labels, value }) => {
      const of = Object.values(labels).join(', ');
      return `${name}${of && ` (${of})`} ${(value * 1000).toFixed(1)} ms`;
    })
    .join(', ');
}

const Addresses: z.ZodType<Upstream> = z.object({
  http: z.array(z.string()),
  https: z.array(z.string()),
  silent: z.array(z.string()),
  resolver: z.string(),
});
const SeenAnswer: z.ZodType<Seen> = z.object({ monitors: z.number(), lastFirstMs: z.number() });
const ArrivalsAnswer: z.ZodType<ArrivalTimes> = z.record(z.string(), z.array(z.number()));

/** Asks the process that the monitors look at. */
export function upstreamAt(port: number) {
  return {
    addresses: async () => Addresses.parse(JSON.parse(await get(port, '/addresses'))),
    seen: async () => SeenAnswer.parse(JSON.parse(await get(port, '/seen'))),
    arrivals: async () => ArrivalsAnswer.parse(JSON.parse(await get(port, '/arrivals'))),
    forget: async () => void (await ask('POST', port, '/forget')),
  };
}

/** The text at a path of a process on this machine. Throws unless it answers 200. */
export const get = async (port: number, path: string) => await ask('GET', port, path);

async function ask(method: 'GET' | 'POST', port: number, path: string): Promise<string> {
  const answer = await request(`http://127.0.0.1:${port}${path}`, {
    method,
    reset: true,
    // A pass of the reference is one long answer.
    headersTimeout: 120_000,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) {
    throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
  }
  return text;
}
