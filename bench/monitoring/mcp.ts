import { pino } from 'pino';
import { Pool } from 'undici';
import { openMonitoringClients } from '../../src/clients/monitoring.ts';
import { type Finding, noisyOf } from '../shared/finding.ts';
import { WrongAnswerError } from '../shared/load.ts';
import { inTurn } from '../shared/passes.ts';
import type { Bed } from './bed.ts';
import { keysFor } from './calls.ts';
import { startMeter } from './meter.ts';

const MONITORS = 200;

const RUNS = {
  full: { passes: 10, calls: 120 },
  quick: { passes: 4, calls: 40 },
};

/**
 * A call of `list_monitors` over `/mcp`, which asks the service for its list, beside the same request by the same client: CPU of
 * both sides together, since the one has its client in the process of the service, and the other here.
 */
export async function measureMcp(bed: Bed): Promise<Finding[]> {
  const { quick, cores } = bed.context;
  const { passes, calls } = RUNS[quick ? 'quick' : 'full'];
  const keys = keysFor(2 * calls * (passes + 1));
  // Within this none is due again.
  const started = await bed.start({ kind: 'page', count: MONITORS, seconds: 3_600, keys });
  const { server, data } = started;
  const pool = new Pool(`http://127.0.0.1:${server.port}`, { connections: 1 });
  let asked = 0;
  const nextKey = () => {
    asked += 1;
    return data.keys[asked % data.keys.length] ?? '';
  };
  const log = pino({ level: 'silent' });
  const clients = openMonitoringClients({ baseUrl: `http://127.0.0.1:${server.port}`, log });
  const ask = {
    askwatch: () => callListing(pool, nextKey()),
    reference: () => clients.withKey(nextKey()).list(),
  };
  const found: Array<{ askwatch: number; reference: number }> = [];
  const foreign: number[] = [];
  try {
    // The first pass loads what speaks the protocol, and compiles.
    for (let pass = 0; pass <= passes; pass += 1) {
      const cpu = { askwatch: Number.NaN, reference: Number.NaN };
      let mostForeign = 0;
      for (const subject of inTurn(pass, ['askwatch', 'reference'] as const)) {
        const before = process.cpuUsage();
        const meter = startMeter({ ...bed, target: server.pid, cores });
        for (let call = 0; call < calls; call += 1) await ask[subject]();
        const { cpuSeconds, foreignCores } = meter();
        const { user, system } = process.cpuUsage(before);
        cpu[subject] = (cpuSeconds * 1e6 + user + system) / calls;
        mostForeign = Math.max(mostForeign, foreignCores);
      }
      if (pass === 0) continue;
      found.push(cpu);
      foreign.push(mostForeign);
    }
  } finally {
    await Promise.all([pool.close(), clients.close()]);
  }
  await bed.end(started);
  return [
    {
      ...{ name: 'mcp', unit: 'µs', compare: 'ratio', goal: { atMost: 1.5 }, passes: found },
      title: `CPU of list_monitors over /mcp, ${MONITORS} monitors; reference: the request for the list that it makes, with its reading`,
      noisyPasses: noisyOf(foreign),
    },
  ];
}

const BODY = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name: 'list_monitors', arguments: {} },
});

async function callListing(pool: Pool, key: string): Promise<void> {
  const answer = await pool.request({
    method: 'POST',
    path: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-api-key': key,
    },
    body: BODY,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200 || !text.includes('page 1')) {
    throw new WrongAnswerError(`/mcp answered ${answer.statusCode}: ${text.slice(0, 300)}`);
  }
}
