import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import {
  handedOverClaims,
  handedOverEvents,
  openBotElsewhere,
} from '../../../src/console/playground/bot-elsewhere.ts';
import type { Outcome } from '../../../src/console/shared/api-types.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { times: { ttlMs: 1_000, beatMs: 200 } };

test.skipIf(!hasPostgres)(
  'what is handed over is done by one process, and by another one when that one dies',
  async () => {
    const { open, query } = await testDatabase();
    const taken: string[] = [];
    const { log } = recordingLog();
    const openElsewhere = async (
      name: string,
      hasBot: () => boolean,
      outcome: Promise<Outcome>,
    ) => {
      const store = await open(SHORT);
      const accept = async () => {
        taken.push(name);
        return await outcome;
      };
      const claims = store.claims(handedOverClaims);
      const options = { claims, accept: () => (hasBot() ? accept : undefined), log };
      const elsewhere = await openBotElsewhere(store.events(handedOverEvents), options);
      onTestFinished(elsewhere.close);
      return elsewhere;
    };
    const done: Outcome = { shown: 'channel', message: 'a1' };
    await openElsewhere('dies', () => true, new Promise(() => {}));
    await openElsewhere('lives', () => taken.length > 0, Promise.resolve(done));
    const asking = await openElsewhere('asks', () => false, Promise.resolve(done));
    const asked = { id: randomUUID(), channel: 'general', text: 'why?' };
    const outcome = asking.accept(asked, { id: 'u', name: 'U' });
    await eventually(() => taken.length === 1);
    await query(`update #.member set until = clock_timestamp() - interval '1 second'
    where id = (select holder from #.claim where name = 'console-handed-over')`);
    expect(await outcome).toEqual(done);
    expect(taken).toEqual(['dies', 'lives']);
  },
);
