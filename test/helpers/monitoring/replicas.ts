import { createServer } from 'node:http';
import { listen } from '../http/listen.ts';
import { testDatabase } from '../postgres/test-database.ts';
import { type Service, startService } from './service.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { ttlMs: 1_500, beatMs: 200 };

/** Processes of the service on one database, as far as they share nothing else. */
export async function startReplicas(
  count: number,
  common: Pick<
    NonNullable<Parameters<typeof startService>[0]>,
    'changesOverlapMs' | 'monitorsFile'
  > = {},
) {
  const { open, query } = await testDatabase();
  const start = async (
    options: Pick<NonNullable<Parameters<typeof startService>[0]>, 'onTakenOver'> = {},
  ) => await startService({ openStore: () => open({ times: SHORT }), ...common, ...options });
  const replicas: Service[] = [];
  for (let at = 0; at < count; at += 1) replicas.push(await start());
  const [a, b, c] = replicas as [Service, Service, Service];
  return { replicas, start, query, a, b, c };
}

/** A site of many paths that remembers who asked for what when. */
export async function startSite() {
  const visits: Array<{ path: string; atMs: number }> = [];
  let status = 200;
  const server = createServer((request, response) => {
    visits.push({ path: request.url ?? '', atMs: Date.now() });
    response.writeHead(status).end();
  });
  const port = await listen(server);
  return {
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    of: (path: string) => visits.filter((visit) => visit.path === path).length,
    times: (path: string) => visits.filter((visit) => visit.path === path).map(({ atMs }) => atMs),
    setStatus(to: number) {
      status = to;
    },
  };
}

/** A monitor of a page of that site. */
export const http = (target: string, config: object = {}) => ({
  ...{ name: target, check_type: 'HTTP', target },
  config: { interval_seconds: 3600, ...config },
});
