import { describe, expect, test } from 'vitest';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { createChangesReader } from '../../helpers/monitoring/changes-reader.ts';
import { startReplicas } from '../../helpers/monitoring/replicas.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';
import { describeChanges } from './changes-contract.ts';

const MONITORS = '/api/v1/public/monitors';

/** No test sets back the database's clock, which is this machine's. */
const SHARP = { changesOverlapMs: 1 };

const job = { name: 'backup', check_type: 'HEARTBEAT', target: 'backup', config: {} };

if (hasPostgres) {
  describeChanges('PostgreSQL', async () => (await startReplicas(1)).a);
}

describe.skipIf(!hasPostgres)('several processes of the service on one database', () => {
  test('tell at once what another of them has just answered', async () => {
    const { a, b } = await startReplicas(2, SHARP);
    const { id } = await a.create(job);
    const reader = createChangesReader();
    await reader.read(b);
    for (let turn = 0; turn < 20; turn += 1) {
      await a.call('PATCH', `${MONITORS}/${id}`, { json: { name: `Number ${turn}` } });
      await reader.read(b);
      expect(reader.monitors()[id]).toMatchObject({ name: `Number ${turn}` });
    }
    expect(reader.answers).toEqual({ lists: 1, changes: 20, resets: 0 });
  });

  test('tell what one of them could not store to nobody else as if it were', async () => {
    const { a, b, query } = await startReplicas(2, SHARP);
    const { id, push_url } = await a.create(job);
    const path = new URL(push_url ?? '').pathname;
    const reader = createChangesReader();
    const status = () => (reader.monitors()[id] as Monitor | undefined)?.status;
    await reader.read(a);
    await reader.read(b);
    expect([status(), reader.answers.resets]).toEqual(['PENDING', 0]);
    await query(`create function #.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'the disk is full'; end $$`);
    await query(`create trigger refuse before insert or update on #.shared_value
      for each row execute function #.refuse()`);
    expect((await a.call('POST', `${path}/fail`, { key: null })).status).toBe(503);
    // A full disk must not hide an outage.
    await reader.read(a);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 0]);
    await reader.read(a);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 0]);
    await reader.read(b);
    expect([status(), reader.answers.resets]).toEqual(['PENDING', 1]);
    await reader.read(a);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 1]);
    await query('drop trigger refuse on #.shared_value');
    await a.call('POST', `${path}/fail`, { key: null });
    await reader.read(a);
    await reader.read(b);
    expect([status(), reader.answers.resets]).toEqual(['DOWN', 1]);
  });
});
