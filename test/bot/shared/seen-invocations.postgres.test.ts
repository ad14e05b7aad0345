import { expect, test } from 'vitest';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import { openSeenInvocations } from '../../../src/bot/shared/seen-invocations.ts';
import { sharedFile } from '../../../src/bot/shared/shared-file.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { times: { ttlMs: 1_000, beatMs: 200 } };

const FILES = [
  sharedFile({ name: 'plan.png', ref: { url: 'https://cdn.discordapp.com/x?hm=signature' } }),
];

const asked = (id: string): Invocation => ({
  id,
  request: { command: 'ask', values: { question: 'what is it?' } },
  place: { platform: 'discord', channel: '1' },
  person: { id: 'U1', name: 'Ada' },
  files: FILES,
});

test.skipIf(!hasPostgres)(
  'hands the files of a question to the process that goes on with it, and stores none of them readable',
  async () => {
    const { open, query } = await testDatabase();
    const dies = await openSeenInvocations(await open(SHORT));
    await dies.once(asked('openly'), false);
    await dies.once(asked('privately'), true);
    const stored = JSON.stringify(await query('select * from #.claim'));
    expect(stored).toContain('openly');
    expect(stored).not.toMatch(/plan\.png|signature/);
    const lives = await openSeenInvocations(await open(SHORT));
    await query(`update #.member set until = clock_timestamp() - interval '1 second'
    where id in (select holder from #.claim)`);
    const left = await eventually(async () => {
      const some = await lives.left();
      return some.length > 0 && some;
    });
    const byId = new Map(left.map((one) => [one.invocation.id, one]));
    expect(byId.get('openly')?.invocation.files).toEqual(FILES);
    expect(byId.get('privately')?.invocation.files).toBeUndefined();
    expect(byId.get('privately')?.isKnown).toBe(false);
  },
);
