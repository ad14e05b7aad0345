import { createMemoryData, openMemoryStore } from '../helpers/memory-store/memory-store.ts';
import { describeStore } from './store-contract.ts';

describeStore('the memory engine', async () => {
  const data = createMemoryData();
  let store = openMemoryStore({ data });
  return {
    store,
    async reopen() {
      await store.close();
      store = openMemoryStore({ data });
      return store;
    },
  };
});
