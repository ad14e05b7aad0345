import { onTestFinished } from 'vitest';
import { openJournalBooks } from '../../../src/gateway/usage/journal-books.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';
import { describeBooks } from './books-contract.ts';

describeBooks('a journal', async () => {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const clocks = { unixMs: Date.now, steadyMs: () => performance.now() };
  let close = async () => {};
  async function open() {
    const store = await openTestStore({ folder, log });
    const books = await openJournalBooks({ store, clocks, log });
    close = async () => {
      await books.close();
      await store.close();
    };
    return books;
  }
  onTestFinished(() => close());
  return {
    books: await open(),
    async reopen() {
      await close();
      return await open();
    },
  };
});
