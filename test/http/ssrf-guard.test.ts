import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { literalAddress } from '../../src/http/address.ts';
import { createSsrfGuard } from '../../src/http/ssrf-guard.ts';
import { long } from '../helpers/long.ts';
import { anyIpv4, anyIpv6, isForPublic } from '../helpers/monitoring/hostile-addresses.ts';

/** The address behind a URL's host, as the checks see it. */
const hostOf = (host: string) => literalAddress(new URL(`http://${host}/`).hostname);

describe('without an allow-list', () => {
  const guard = createSsrfGuard([]);

  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '0',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.7',
    '203.0.113.7',
    '100.64.0.1',
    '169.254.169.254',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:169.254.169.254]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a9fe:a9fe]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[2001:db8::1]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[100::1]',
    '[4000::1]',
    '0x7f.0x0.0x0.0x1',
    '017700000001',
    '0x0a000001',
    '3232235521',
    '169.254.43518',
    '127。0。0。1',
    '１２７.0.0.1',
    '%31%32%37.0.0.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.175.48.1',
    '[::ffff:0a00:0001]',
    '[0000:0000:0000:0000:0000:ffff:7f00:0001]',
    '[2001:2::1]',
    '[2001:20::1]',
    '[2002:a9fe:a9fe::1]',
    '[2620:4f:8000::1]',
    '[3fff::1]',
    '[5f00::1]',
    '[fe80::a9fe:a9fe]',
    '[ff0e::1]',
  ])('refuses %s', (host) => {
    const address = hostOf(host);
    expect(address).toBeDefined();
    expect(guard.allows(address ?? '')).toBe(false);
  });

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '[2606:4700:4700::1111]',
    '[::ffff:1.1.1.1]',
    '[64:ff9b::1.1.1.1]',
  ])('allows %s', (host) => {
    expect(guard.allows(hostOf(host) ?? '')).toBe(true);
  });

  test('agrees with the registries on any address', () => {
    fc.assert(
      fc.property(fc.oneof(anyIpv4, anyIpv6), (address) => {
        expect(guard.allows(address), address).toBe(isForPublic(address));
      }),
      { numRuns: long ? 5_000 : 1_000 },
    );
  });

  test.each(['fe80::1%eth0', '::1%lo', '::ffff:127.0.0.1%1', '::%.', '2606:4700::1%.'])(
    'refuses %s of a zone',
    (address) => {
      expect(guard.allows(address)).toBe(false);
    },
  );

  test('takes nothing else for an address, and never throws', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'0127.:afx%[]/ '), maxLength: 30 }),
        (text) => {
          expect(guard.allows(text)).toBe(
            isForPublic(text.replace(/%.*/, '')) && guard.allows(text),
          );
        },
      ),
      { numRuns: long ? 2_000 : 500 },
    );
  });

  test.each(['', 'localhost', 'example.com', '1.1.1', '[::1]', '1.1.1.1 '])(
    'does not take %j for an address',
    (text) => {
      expect(guard.allows(text)).toBe(false);
    },
  );
});

describe('an allow-list', () => {
  test('opens its networks in every notation and nothing else', () => {
    const guard = createSsrfGuard(['10.1.0.0/16', 'fd00::/8', '192.168.7.9']);
    expect(guard.allows('10.1.200.3')).toBe(true);
    expect(guard.allows('::ffff:10.1.200.3')).toBe(true);
    expect(guard.allows('64:ff9b::a01:c803')).toBe(true);
    expect(guard.allows('fd12::1')).toBe(true);
    expect(guard.allows('192.168.7.9')).toBe(true);
    expect(guard.allows('1.1.1.1')).toBe(true);
    expect(guard.allows('10.2.0.1')).toBe(false);
    expect(guard.allows('192.168.7.10')).toBe(false);
    expect(guard.allows('127.0.0.1')).toBe(false);
    expect(guard.allows('fe80::1')).toBe(false);
  });

  test.each(['10.0.0.0/33', 'ten/8', 'localhost', '10.0.0', ''])(
    'says that %j is no network',
    (entry) => {
      expect(() => createSsrfGuard([entry])).toThrow(/MONITOR_ALLOW_PRIVATE/);
    },
  );
});
