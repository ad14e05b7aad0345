import { expect, test } from 'vitest';
import { openStore } from '../../src/app/open-store.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test.skipIf(!hasPostgres)(
  'A database is for more monitors than a folder of one process',
  async () => {
    const { url, schema, log } = await testDatabase();
    const program = { version: '1.2.3', log };
    const dataDir = await temporaryFolder();
    const database = { url, directUrl: undefined, poolSize: 2, schema };
    const opened = [
      await openStore({ dataDir, database: undefined }, program),
      await openStore({ dataDir, database }, program),
    ];
    for (const { store } of opened) await store.close();
    expect(opened.map(({ maxMonitors }) => maxMonitors)).toEqual([undefined, 1_000_000]);
  },
);
