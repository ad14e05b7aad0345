import { expect, test } from 'vitest';
import { accountIntakes } from '../../../src/app/features/account-intakes.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import type { IntakeList } from '../../../src/console/account/api-types.ts';
import { fetchAccount } from '../../helpers/console/test-account.ts';
import { openTab, startTestConsole } from '../../helpers/console/test-console.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

test.skipIf(!hasPostgres)(
  'a process without the playground offers the channels that people made in it',
  async () => {
    const { open } = await testDatabase();
    const holder = await startTestConsole({ store: await open() });
    const tab = await openTab(holder.url);
    expect((await tab.tell('channels', { name: 'ops' })).status).toBe(200);
    const store = await open();
    const intakes = { manage: accountIntakes(await createIntakes(store)), addressFor: () => '' };
    const account = { keys: {}, intakes };
    const { url } = await startTestConsole({ store, account, hasBot: false });
    const { places } = await fetchAccount<IntakeList>(url, 'intakes');
    expect(places.map(({ key }) => key)).toEqual(['console:general', 'console:ops']);
  },
);
