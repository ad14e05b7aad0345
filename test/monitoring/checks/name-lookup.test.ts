import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createNameLookup } from '../../../src/monitoring/checks/name-lookup.ts';
import { startDnsServer } from '../../fakes/dns-server.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

test.each(['localhost', 'LOCALHOST.', 'api.localhost'])(
  '%s is this machine, whatever the resolver says',
  async (name) => {
    const dns = await startDnsServer(() => [['192.0.2.1']]);
    const lookup = createNameLookup({ servers: [dns.address] });
    expect(await lookup(name)).toEqual(['127.0.0.1', '::1']);
    expect(dns.questions).toEqual([]);
  },
);

test('the hosts file is read before the resolver is asked', async () => {
  const hostsFile = join(await temporaryFolder(), 'hosts');
  await writeFile(
    hostsFile,
    '# names\n192.0.2.7 db.internal DB # the database\n2001:db8::7\tdb.internal\n',
  );
  const dns = await startDnsServer(({ type }) =>
    type === 'A' ? [['192.0.2.1']] : [['2001:db8::1']],
  );
  const lookup = createNameLookup({ servers: [dns.address], hostsFile });
  expect(await lookup('Db.Internal.')).toEqual(['192.0.2.7', '2001:db8::7']);
  expect(await lookup('db')).toEqual(['192.0.2.7']);
  expect(dns.questions).toEqual([]);
  expect(await lookup('shop.example')).toEqual(['192.0.2.1', '2001:db8::1']);
});

test('a machine without a hosts file asks the resolver, and one family is enough', async () => {
  const hostsFile = join(await temporaryFolder(), 'none');
  const dns = await startDnsServer(({ type }) => (type === 'A' ? 'SERVFAIL' : [['2001:db8::1']]));
  const lookup = createNameLookup({ servers: [dns.address], hostsFile });
  expect(await lookup('six.example')).toEqual(['2001:db8::1']);
});
