import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import { prepareData } from '../monitoring/data.ts';
import { writePast } from '../monitoring/past.ts';
import type { BenchContext } from '../shared/area.ts';
import { askwatchReady } from '../shared/askwatch-process.ts';
import { startProcess } from '../shared/target-process.ts';

const DAY_MS = 86_400_000;
const PAST_DAYS = { full: 90, quick: 7 };

/** All of them answer; hourly looks, so that few come while the page is measured. */
export const MONITORS = 200;
const INTERVAL_SECONDS = 3_600;

// This runs from dist/bench/, beside the program that it measures.
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));

/** The whole program with monitors that have a past, on a port of this machine. */
export interface ConsoleBed {
  url: string;
  stop(): Promise<void>;
}

export async function startConsoleBed(context: BenchContext): Promise<ConsoleBed> {
  const { folder, cores, quick } = context;
  const target = createServer((_request, response) => response.end('fine'));
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const at = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  const pastMs = PAST_DAYS[quick ? 'quick' : 'full'] * DAY_MS;
  const definitions = Array.from({ length: MONITORS }, (_, number) =>
    MonitorCreate.parse({
      ...{ name: `Service ${number}`, target: `${at}/${number}`, check_type: 'HTTP' },
      config: { interval_seconds: INTERVAL_SECONDS },
    }),
  );
  const data = await prepareData({ parent: folder, name: 'console', definitions, agoMs: pastMs });
  await writePast({ folder: data.folder, monitors: data.gridded, pastMs });
  const server = await startProcess({
    name: 'Askwatch',
    args: [PROGRAM],
    ready: new RegExp(askwatchReady),
    core: cores.target,
    // A working folder without an .env file.
    cwd: data.folder,
    env: {
      ...{ DATA_DIR: data.folder, PORT: '0', LOG_LEVEL: 'warn' },
      MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    async stop() {
      await server.stop();
      target.close();
    },
  };
}
