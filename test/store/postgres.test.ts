import { describe } from 'vitest';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { describeStore } from './store-contract.ts';

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  describeStore('the postgres engine', async () => {
    const { open } = await testDatabase();
    let store = await open();
    return {
      store,
      async reopen() {
        await store.close();
        store = await open();
        return store;
      },
    };
  });
});
