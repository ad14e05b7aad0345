import ipaddr from 'ipaddr.js';
import { literalAddress } from '../checks/ssrf-guard.ts';

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
function rangeOf(host: string): string {
  const address = literalAddress(host);
  return address === undefined ? '' : ipaddr.process(address).range();
}
