import { expect, test } from 'vitest';
import { createPublicAddress } from '../../src/http/public-address.ts';

const LISTENING = 'http://127.0.0.1:3000';
const addressFor = (isOpen: boolean, publicUrl?: string) =>
  createPublicAddress({ publicUrl, isOpen, listening: () => LISTENING });
const asked = (host: string, protocol = 'http', sent: string | undefined = host) => ({
  ...{ host, protocol },
  headers: { host: sent },
});

test('the public address is the one that is set, with its path, whatever the request says', () => {
  const address = addressFor(true, 'https://example.com/askwatch');
  expect(address()).toBe('https://example.com/askwatch');
  expect(address(asked('evil.example'))).toBe('https://example.com/askwatch');
});

test('the public address has the host of the request only where others can reach the listener', () => {
  expect(addressFor(true)(asked('askwatch.lan:3000'))).toBe('http://askwatch.lan:3000');
  expect(addressFor(true)(asked('[fd00::1]:3000', 'https'))).toBe('https://[fd00::1]:3000');
  expect(addressFor(true)()).toBe(LISTENING);
  expect(addressFor(false)(asked('evil.example'))).toBe(LISTENING);
});

test.each([
  ...['', ' ', 'a b', 'a/b', 'a?b', 'a#b', 'user@a', 'a:b', 'a:123456', 'a:99999', '[::1', '::1'],
  ...['a"onload="x', "a'b", 'a<b>', 'a\r\nb', 'a\\b', '-a', '.a', 'ä.example', '%61', 'a,b'],
  ...['x'.repeat(300), '[:::::]', 'a\u202eb'],
])('the host %j is not used for an address', (host) => {
  expect(addressFor(true)(asked(host))).toBe(LISTENING);
});
