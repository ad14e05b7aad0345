import { mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchContext } from '../shared/area.ts';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';
import { type PreparedData, prepareData } from './data.ts';
import { definitionsOf, type Kind } from './definitions.ts';
import type { Upstream } from './hosts.ts';
import { writePast } from './past.ts';
import { startMonitoring, upstreamAt } from './server.ts';

// This runs from dist/bench/, beside the program that it measures.
const DIST = fileURLToPath(new URL('..', import.meta.url));
const certificate = (name: string) =>
  fileURLToPath(new URL(`../../test/fixtures/tls/${name}.pem`, import.meta.url));

const LISTENING = /listening on (\d+)\./;

/** Source: statfs(2), TMPFS_MAGIC. */
const TMPFS = 0x01021994;

/** Shared set-up of all measures. */
export interface Bed {
  context: BenchContext;
  upstream: Upstream;
  asks: ReturnType<typeof upstreamAt>;
  /** Process ids of the bench's own helpers. */
  helpers: number[];
  startReference(): Promise<TargetProcess>;
  /** The file with the authority that the targets' certificates are from. */
  authority: string;
  /** Starts the service on a new folder with so many monitors; gives both, and when it was started. */
  start(options: {
    kind: Kind;
    count: number;
    seconds: number;
    keys?: number;
    /** Age of the prepared history. */
    pastMs?: number;
  }): Promise<{ server: TargetProcess; data: PreparedData; startedMs: number }>;
  /** Stops the service and removes its folder. */
  end(started: { server: TargetProcess; data: PreparedData }): Promise<void>;
  close(): Promise<void>;
}

/** Starts what the monitors look at. */
export async function makeBed(context: BenchContext): Promise<Bed> {
  const { folder, cores, profile, progress } = context;
  await mkdir(folder, { recursive: true });
  if ((await statfs(folder)).type === TMPFS) {
    context.note(`${folder} is memory and no disk: what durable writing costs is not measured.`);
  }
  const authority = certificate('bench-authority');
  const upstreamProcess = await startProcess({
    name: 'What is monitored',
    args: [join(DIST, 'bench/monitoring-upstream.js'), certificate('bench')],
    ready: LISTENING,
    core: cores.load,
  });
  const asks = upstreamAt(upstreamProcess.port);
  const upstream = await asks.addresses();
  let starts = 0;
  return {
    context,
    upstream,
    asks,
    authority,
    helpers: [process.pid, upstreamProcess.pid],
    startReference: () =>
      startProcess({
        name: 'The reference',
        args: [join(DIST, 'bench/monitoring-reference.js'), JSON.stringify(upstream)],
        ready: LISTENING,
        core: cores.target,
        env: { NODE_EXTRA_CA_CERTS: authority },
      }),
    async start({ kind, count, seconds, keys = 1, pastMs = 0 }) {
      starts += 1;
      progress(`  writing ${count} monitors`);
      const data = await prepareData({
        parent: folder,
        name: `data-${starts}`,
        definitions: definitionsOf(kind, { upstream, count, seconds }),
        keys,
        agoMs: pastMs,
      });
      if (pastMs > 0) {
        progress('  writing their results');
        await writePast({ folder: data.folder, monitors: data.gridded, pastMs });
      }
      await asks.forget();
      const startedMs = performance.timeOrigin + performance.now();
      const server = await startMonitoring({
        dist: DIST,
        folder: data.folder,
        authority,
        core: cores.target,
        nodeArgs:
          profile === undefined
            ? []
            : ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${kind}.cpuprofile`],
      });
      return { server, data, startedMs };
    },
    async end({ server, data }) {
      await server.stop();
      await rm(data.folder, { recursive: true, force: true, maxRetries: 3 });
    },
    close: () => upstreamProcess.stop(),
  };
}
