import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { memoize } from '../time/memoize.ts';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Addresses of which is remembered what they are: those of as many monitors as there can be, asked for at every check. */
export const MAX_ADDRESSES = 10_000;

/**
 * The IPv4 or IPv6 address that a text is, in the notations that both Node and ipaddr.js read; `undefined` when it is none.
 * Each reads what the other does not: Node any text as a zone (`::%.`), ipaddr.js IPv4 of fewer parts (`1.1.1`).
 */
export function readAddress(text: string): Address | undefined {
  return isIP(text) !== 0 && ipaddr.isValid(text) ? ipaddr.parse(text) : undefined;
}

/** Ranges of networks that can be there while the internet is not. Source: RFC 1918, RFC 3927, RFC 4193, RFC 4291. */
const PRIVATE_RANGES = ['private', 'linkLocal', 'uniqueLocal'];

/** Whether a host is this machine, as far as its name or literal says so. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  // Connecting to the unspecified address reaches this machine.
  return ['loopback', 'unspecified'].includes(rangeOf(host));
}

/** Whether a host is a literal address of a network of our own. */
export function isPrivate(host: string): boolean {
  return PRIVATE_RANGES.includes(rangeOf(host));
}

/** The kind of network that a literal is in, that of the IPv4 address where it stands for one; '' for a name. */
const rangeOf = memoize(MAX_ADDRESSES, (host: string): string => {
  const address = literalAddress(host);
  return address === undefined ? '' : ipaddr.process(address).range();
});

/** The host of a URL as an address, without brackets; `undefined` when it is a name. */
export const literalAddress = memoize(MAX_ADDRESSES, (hostname: string): string | undefined => {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return readAddress(bare) && bare;
});
