import { describe, expect, test } from 'vitest';
import { clientKeyOf } from '../../src/http/client-address.ts';

describe('callers are distinguished by', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
    [undefined, ''],
  ])('of %j: %j', (address, caller) => {
    expect(clientKeyOf(address)).toBe(caller);
  });
});
