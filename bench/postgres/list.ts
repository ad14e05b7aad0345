import { Client } from 'undici';
import { MonitoringPath } from '../../src/contracts/monitoring.ts';
import { prepareData } from '../monitoring/data.ts';
import { definitionsOf } from '../monitoring/definitions.ts';
import { startMonitoring } from '../monitoring/server.ts';
import { type Finding, findingsOfTimes } from '../shared/finding.ts';
import { WrongAnswerError } from '../shared/load.ts';
import { inTurn } from '../shared/passes.ts';
import type { TargetProcess } from '../shared/target-process.ts';
import type { Bed } from './bed.ts';
import { CERTIFICATE, DIST, fillDatabase, startMember, untilSpread } from './fleet.ts';
import { openSink, untilAllSeen } from './sink.ts';

const SECONDS = 60;
const PROCESSES = 3;
const SIZES = {
  // With a warm-up, fewer than a key may ask in a minute.
  full: { count: 10_000, lists: 50 },
  quick: { count: 1_000, lists: 20 },
};
const WARM_UP = 5;

/** All monitors from a process that watches over a third of them, beside one that has all in files. */
export async function measureList(bed: Bed): Promise<Finding[]> {
  const { context, server } = bed;
  const { count, lists } = SIZES[context.quick ? 'quick' : 'full'];
  const sink = await openSink();
  const running: TargetProcess[] = [];
  try {
    const { upstream } = sink;
    const url = await server.database('list');
    context.progress(`  writing ${count} monitors twice`);
    const { key } = await fillDatabase(url, { upstream, count, seconds: SECONDS });
    const { folder } = context;
    const definitions = definitionsOf('page', { upstream, count, seconds: SECONDS });
    const data = await prepareData({ parent: folder, name: 'list', definitions });
    for (let at = 0; at < PROCESSES; at += 1) running.push(await startMember(url, { folder }));
    await untilSpread(url, running);
    await untilAllSeen(sink, running, count);
    await sink.asks.forget();
    const files = await startMonitoring({
      ...{ dist: DIST, folder: data.folder, authority: CERTIFICATE, core: undefined },
      nodeArgs: [],
    });
    running.push(files);
    const [member] = running;
    const askwatch = await listerOf(member?.port ?? 0, key, count);
    const reference = await listerOf(files.port, data.keys[0] ?? '', count);
    const times = { askwatch: [] as number[], reference: [] as number[] };
    for (let turn = 0; turn < WARM_UP + lists; turn += 1) {
      for (const name of inTurn(turn, ['askwatch', 'reference'] as const)) {
        const took = await (name === 'askwatch' ? askwatch : reference).list();
        if (turn >= WARM_UP) times[name].push(took);
      }
    }
    await Promise.all([askwatch.close(), reference.close()]);
    return findingsOfTimes({
      ...{ name: 'list', title: `list of ${count} from one of ${PROCESSES} processes; files` },
      ...{ timesMs: [times.askwatch], referenceMs: [times.reference] },
      shares: { p50: undefined, p95: undefined },
    }).map((finding) => ({ ...finding, compare: 'ratio' as const }));
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    await sink.close();
  }
}

/** Asks one process for all monitors; gives how long that took, milliseconds. */
async function listerOf(port: number, key: string, count: number) {
  const client = new Client(`http://127.0.0.1:${port}`);
  return {
    async list(): Promise<number> {
      const startMs = performance.now();
      const answer = await client.request({
        ...{ method: 'GET', path: MonitoringPath.monitors, headers: { 'x-api-key': key } },
      });
      const body = await answer.body.text();
      const tookMs = performance.now() - startMs;
      if (answer.statusCode !== 200 || !body.startsWith(`{"count":${count},`)) {
        throw new WrongAnswerError(
          `the list was answered ${answer.statusCode}: ${body.slice(0, 200)}`,
        );
      }
      return tookMs;
    },
    close: () => client.close(),
  };
}
