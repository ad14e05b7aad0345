import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { internalUrl } from '../../src/app/internal-url.ts';

const address = (of: string, more: Partial<NetworkInterfaceInfo> = {}) =>
  ({ address: of, family: 'IPv4', internal: false, ...more }) as NetworkInterfaceInfo;

const INTERFACES = {
  lo: [address('127.0.0.1', { internal: true })],
  eth0: [address('fe80::1', { family: 'IPv6' }), address('10.0.0.7')],
  eth1: [address('10.0.0.8')],
};

test.each([
  ['https://a.internal:8000', 'http://0.0.0.0:8080', INTERFACES, 'https://a.internal:8000'],
  [undefined, 'http://10.0.0.9:8080', INTERFACES, 'http://10.0.0.9:8080'],
  [undefined, 'http://127.0.0.1:8080', INTERFACES, 'http://127.0.0.1:8080'],
  [undefined, 'http://0.0.0.0:8080', INTERFACES, 'http://10.0.0.7:8080'],
  [undefined, 'http://[::]:8080', INTERFACES, 'http://10.0.0.7:8080'],
  [undefined, 'http://0.0.0.0:8080', { lo: INTERFACES.lo }, 'http://0.0.0.0:8080'],
])('INTERNAL_URL %s and listening at %s, others reach it (%#)', (set, at, interfaces, wanted) => {
  expect(internalUrl(set, at, interfaces)).toBe(wanted);
});
