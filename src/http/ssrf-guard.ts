import ipaddr from 'ipaddr.js';
import { type IpAddress, readAddress } from './address.ts';

type IpNetwork = [IpAddress, number];

/** Networks of the IPv6 internet. Source: RFC 4291 §2.4, IANA IPv6 address space. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** IPv6 addresses that a translator turns into IPv4 ones. Source: RFC 6052 §2.1. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');

export type SsrfGuard = ReturnType<typeof createSsrfGuard>;

/**
 * Allows the public internet and the operator's networks (CIDRs or single addresses), nothing else: no private,
 * loopback, link-local (cloud metadata), multicast or reserved address, also if written as IPv6.
 * Throws if an entry of `allowPrivate` is neither.
 * Source: IANA special-purpose address registries (RFC 6890), as ipaddr.js knows them.
 */
export function createSsrfGuard(allowPrivate: readonly string[]) {
  const networks = allowPrivate.map(parseNetwork);
  const isAllowedByOperator = (address: IpAddress) =>
    networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  return {
    /** Takes an IPv4 or IPv6 literal; other texts aren't allowed. */
    allows(text: string): boolean {
      const written = readAddress(text);
      if (!written) return false;
      const meant = reachedBy(written);
      return isAllowedByOperator(meant) || isAllowedByOperator(written) || isPublic(meant);
    },
  };
}

/** The IPv4 address behind a mapped or translated IPv6 one. */
function reachedBy(address: IpAddress): IpAddress {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  if (address.match(NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(12));
  return address;
}

function isPublic(address: IpAddress): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}

function parseNetwork(text: string): IpNetwork {
  const entry = text.trim();
  try {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry);
    const address = readAddress(entry);
    if (!address) throw new Error('not an address');
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch (cause) {
    throw new Error(
      `MONITOR_ALLOW_PRIVATE: "${entry}" is not a network. Use networks such as 10.0.0.0/8 or fd00::/8, separated by commas.`,
      { cause },
    );
  }
}
