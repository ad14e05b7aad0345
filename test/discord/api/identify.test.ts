import { expect, test } from 'vitest';
import { identifyInTurn, type Turn } from '../../../src/discord/api/replicas.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

/** Turns that are kept in memory; the first few leases cannot be asked for, or are somebody else's. */
function turnsWith(first: Array<'away' | 'taken'>) {
  const kept = new Map<string, Turn>();
  const asked: string[] = [];
  const turns = {
    get: async (id: string) => kept.get(id),
    async update(id: string, change: (now: Turn | undefined) => Turn | undefined) {
      const next = change(kept.get(id));
      if (next) kept.set(id, next);
      return next;
    },
  };
  async function lease(name: string) {
    asked.push(name);
    const outcome = first.shift();
    if (outcome === 'away') throw new Error('the database is away');
    if (outcome === 'taken') return undefined;
    return { fence: 1, signal: new AbortController().signal, release: async () => {} };
  }
  const build = identifyInTurn({ lease, turns } as never, { log: recordingLog().log });
  const told = { session_start_limit: { max_concurrency: 2 } };
  const throttler = () => build({ fetchGatewayInformation: async () => told } as never);
  return { kept, asked, throttler };
}

test('a turn is waited for while another process has it, and while the store is away', async () => {
  const { asked, kept, throttler } = turnsWith(['away', 'taken']);
  await (await throttler()).waitForIdentify(3, new AbortController().signal);
  expect(asked).toEqual(Array.from({ length: 3 }, () => 'discord-identify-1'));
  expect(kept.get('identify-1')).toEqual({ isOver: false });
});

test('a connection that ends meanwhile waits no longer', async () => {
  const { throttler } = turnsWith(Array.from({ length: 1_000 }, () => 'taken' as const));
  const ended = new AbortController();
  const waiting = (await throttler()).waitForIdentify(0, ended.signal);
  ended.abort();
  await expect(waiting).rejects.toThrow(/abort/);
});
