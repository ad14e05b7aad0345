import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import type { IntakeList } from '../../../src/console/account/api-types.ts';
import { openKeys } from '../../../src/http/keys.ts';
import { fetchAccount, writeAccount } from '../../helpers/console/test-account.ts';
import { openTab, startTestConsole } from '../../helpers/console/test-console.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const anyKey = {
  name: 'gateway-keys',
  schema: z.unknown(),
  version: 1,
  whenCorrupt: 'refuse' as const,
};

test.skipIf(!hasPostgres)('a request that comes to two processes makes one key', async () => {
  const { open } = await testDatabase();
  const both = await Promise.all(
    [open(), open()].map(async (opening) => {
      const store = await opening;
      const account = { keys: { gateway: await openKeys(store, 'gateway') } };
      return await startTestConsole({ store, account, hasBot: false });
    }),
  );
  for (let turn = 1; turn <= 5; turn += 1) {
    const wanted = { id: randomUUID(), service: 'gateway', name: 'laptop' };
    const answers = await Promise.all(both.map(({ url }) => writeAccount(url, 'keys', wanted)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  }
  const stored = (await open()).collection(anyKey);
  expect(await stored.list()).toHaveLength(5);
});

test.skipIf(!hasPostgres)(
  'a process without the playground offers the channels that people made in it',
  async () => {
    const { open } = await testDatabase();
    const holder = await startTestConsole({ store: await open() });
    const tab = await openTab(holder.url);
    expect((await tab.tell('channels', { name: 'ops' })).status).toBe(200);
    const store = await open();
    const intakes = { intakes: await createIntakes(store), addressFor: () => '' };
    const account = { keys: {}, intakes };
    const { url } = await startTestConsole({ store, account, hasBot: false });
    const { places } = await fetchAccount<IntakeList>(url, 'intakes');
    expect(places.map(({ key }) => key)).toEqual(['console:general', 'console:ops']);
  },
);
