import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Reads an IPv4 or IPv6 address in the notations that both Node and ipaddr.js accept; `undefined` for other texts. Node alone accepts
 * any zone (`::%.`), ipaddr.js alone accepts IPv4 with fewer parts (`1.1.1`).
 */
export function readAddress(text: string): IpAddress | undefined {
  return isIP(text) !== 0 && ipaddr.isValid(text) ? ipaddr.parse(text) : undefined;
}

/** Ranges of networks that may be reachable while the internet is not. Source: RFC 1918, RFC 3927, RFC 4193, RFC 4291. */
const PRIVATE_RANGES = ['private', 'linkLocal', 'uniqueLocal'];

/** The host is this machine, by its name or literal; a name may still resolve to it. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  // Connecting to the unspecified address reaches this machine.
  return ['loopback', 'unspecified'].includes(rangeOf(host));
}

/** The host is a literal address of a private network. */
export function isPrivate(host: string): boolean {
  return PRIVATE_RANGES.includes(rangeOf(host));
}

/** The network range of a literal, by its IPv4 address if it is mapped; '' for a name. */
function rangeOf(host: string): string {
  const address = literalAddress(host);
  return address === undefined ? '' : ipaddr.process(address).range();
}

/** The host of a URL as an address without brackets; `undefined` for a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return readAddress(bare) && bare;
}
