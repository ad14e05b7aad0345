import { BlockList, isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';

/**
 * Addresses outside the public internet, written down again from the registries and not taken from the guard.
 * Source: IANA IPv4 and IPv6 Special-Purpose Address Registries, RFC 5771 (multicast), RFC 1112 (240/4).
 */
const NOT_PUBLIC_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** Within 2000::/3; all outside of it is not public. */
const NOT_PUBLIC_IPV6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const;

const forbidden = new BlockList();
for (const [net, bits] of NOT_PUBLIC_IPV4) forbidden.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of NOT_PUBLIC_IPV6) forbidden.addSubnet(net, bits, 'ipv6');
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
const translated = new BlockList();
translated.addSubnet('64:ff9b::', 96, 'ipv6');

/** The oracle: whether an address, as plain text, is of the public internet. */
export function isForPublic(address: string): boolean {
  if (isIPv4(address)) return !forbidden.check(address, 'ipv4');
  if (!isIPv6(address)) return false;
  const words = wordsOf(address);
  const last = [words[6] ?? 0, words[7] ?? 0].flatMap((word) => [word >> 8, word & 255]).join('.');
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  if (isMapped || translated.check(address, 'ipv6')) return isForPublic(last);
  return global.check(address, 'ipv6') && !forbidden.check(address, 'ipv6');
}

const byte = fc.integer({ min: 0, max: 255 });
const word = fc.integer({ min: 0, max: 0xffff });

/** IPv4 addresses, half of them from networks that are not public, often from their edges. */
export const anyIpv4 = fc.oneof(
  fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.')),
  fc
    .tuple(fc.constantFrom(...NOT_PUBLIC_IPV4), fc.constantFrom(-1, 0, 1, 2, 77), fc.boolean())
    .map(([[net, bits], by, end]) => {
      const start = numberOf(net);
      const edge = end ? start + 2 ** (32 - bits) : start;
      return dotted((edge + by + 2 ** 32) % 2 ** 32);
    }),
);

/** IPv6 addresses: any, from networks that are not public, and with an IPv4 address inside. */
export const anyIpv6 = fc.oneof(
  fc.array(word, { minLength: 8, maxLength: 8 }).map(joined),
  fc
    .tuple(fc.integer({ min: 0x2000, max: 0x3fff }), fc.array(word, { minLength: 7, maxLength: 7 }))
    .map(([first, rest]) => joined([first, ...rest])),
  fc
    .tuple(
      fc.constantFrom(
        '::',
        '::1',
        'fc00::',
        'fe80::1',
        'fec0::',
        'ff02::1',
        '100::',
        '64:ff9b:1::',
      ),
      fc.constantFrom('2001::', '2001:20::', '2001:db8::', '2002:7f00:1::', '3fff::', '5f00::'),
      fc.boolean(),
    )
    .map(([one, other, first]) => (first ? one : other)),
  fc
    .tuple(
      anyIpv4,
      fc.constantFrom('::ffff:', '64:ff9b::', '::', '::ffff:0:', '2002:', '64:ff9b:1::'),
    )
    .map(([ipv4, before]) => {
      const number = numberOf(ipv4);
      const hex = `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`;
      return before === '2002:' ? `2002:${hex}::` : `${before}${hex}`;
    }),
);

/** An IPv4 address in the notations that a URL may have it in. Source: WHATWG URL, "IPv4 parser". */
export function writtenIpv4(address: string): fc.Arbitrary<string> {
  const number = numberOf(address);
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const parts = fc.constantFrom(
    [a, b, c, d],
    [a, b, c * 256 + d],
    [a, (b * 256 + c) * 256 + d],
    [number],
  );
  const base = fc.constantFrom(
    (part: number) => String(part),
    (part: number) => `0x${part.toString(16)}`,
    (part: number) => `0X${part.toString(16).toUpperCase()}`,
    (part: number) => `0x000${part.toString(16)}`,
    (part: number) => `0${part.toString(8)}`,
    (part: number) => `000${part.toString(8)}`,
    // Digits in full width, and percent-coded, are digits too.
    (part: number) => String(part).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + +digit)),
    (part: number) => String(part).replace(/\d/g, (digit) => `%3${digit}`),
  );
  const dot = fc.constantFrom('.', '.', '.', '%2e', '。', '．');
  return fc
    .tuple(parts, fc.array(base, { minLength: 4, maxLength: 4 }), dot)
    .map(([numbers, bases, between]) =>
      numbers.map((part, i) => bases[i]?.(part) ?? String(part)).join(between),
    );
}

/** An IPv6 address in the notations that a URL may have it in. */
export function writtenIpv6(address: string): fc.Arbitrary<string> {
  const words = wordsOf(address);
  const hex = words.map((one) => one.toString(16));
  const tail = words.slice(6).flatMap((one) => [one >> 8, one & 255]);
  return fc.constantFrom(
    `[${address}]`,
    `[${address.toUpperCase()}]`,
    `[${hex.join(':')}]`,
    `[${hex.map((one) => one.padStart(4, '0')).join(':')}]`,
    `[${hex.slice(0, 6).join(':')}:${tail.join('.')}]`,
  );
}

function joined(words: readonly number[]): string {
  return words.map((one) => one.toString(16)).join(':');
}

function wordsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const read = (part: string) =>
    part === '' ? [] : part.split(':').map((one) => Number.parseInt(one, 16));
  const left = read(head);
  const right = tail === undefined ? [] : read(tail);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return tail === undefined ? left : [...left, ...zeros, ...right];
}

const numberOf = (address: string) =>
  address.split('.').reduce((number, part) => number * 256 + Number(part), 0);

const dotted = (number: number) =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
