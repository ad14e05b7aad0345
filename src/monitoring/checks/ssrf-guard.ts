import ipaddr from 'ipaddr.js';
import { memoize } from '../time/memoize.ts';
import { type Address, MAX_ADDRESSES, readAddress } from './address.ts';

type Network = [Address, number];

/** The networks that the IPv6 internet is made of. Source: RFC 4291 §2.4, IANA IPv6 address space. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** IPv6 addresses that stand for an IPv4 one behind a translator. Source: RFC 6052 §2.1. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');

/** Says which addresses checks may reach. */
export type SsrfGuard = ReturnType<typeof createSsrfGuard>;

/**
 * Allows the public internet and the operator's networks (CIDRs or single addresses), nothing else: no private,
 * loopback, link-local (cloud metadata), multicast or reserved address, in whatever IPv6 clothes.
 * Throws when an entry of `allowPrivate` is neither.
 * Source: IANA special-purpose address registries (RFC 6890), as ipaddr.js knows them.
 */
export function createSsrfGuard(allowPrivate: readonly string[]) {
  const networks = allowPrivate.map(parseNetwork);
  const isAllowedByOperator = (address: Address) =>
    networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  return {
    /** Whether this address, an IPv4 or IPv6 literal, may be reached; anything else may not. */
    allows: memoize(MAX_ADDRESSES, (text: string): boolean => {
      const written = readAddress(text);
      if (!written) return false;
      const meant = reachedBy(written);
      return isAllowedByOperator(meant) || isAllowedByOperator(written) || isPublic(meant);
    }),
  };
}

/** The IPv4 address that an IPv6 one stands for, where it does. */
function reachedBy(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  if (address.match(NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(12));
  return address;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}

function parseNetwork(text: string): Network {
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
