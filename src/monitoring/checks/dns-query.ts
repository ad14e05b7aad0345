import type { Resolver } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import type { DnsConfig } from '../../contracts/monitoring.ts';
import { readAddress } from './address.ts';
import { errorCode } from './failure.ts';

/** A record as text, in the forms an expected value may be written in; the last holds only its name or value. */
export type Forms = string[];

/** What a resolver answered. */
export interface DnsAnswer {
  rcode: DnsConfig['rcode'];
  records: Forms[];
}

/** Source: Node.js docs, "dns: Error codes". ENODATA is a good answer without a record of the type. */
const RCODES: Record<string, DnsConfig['rcode']> = {
  ENODATA: 'NOERROR',
  ENOTFOUND: 'NXDOMAIN',
  ESERVFAIL: 'SERVFAIL',
  EREFUSED: 'REFUSED',
};

/** Asks once; over TCP again when the answer was cut short. Throws Node's error when there is no answer to be read. */
export async function ask(
  resolver: Resolver,
  name: string,
  type: DnsConfig['record_type'],
): Promise<DnsAnswer> {
  try {
    return { rcode: 'NOERROR', records: await recordsOf(resolver, name, type) };
  } catch (error) {
    const rcode = RCODES[errorCode(error) ?? ''];
    if (rcode === undefined) throw error;
    return { rcode, records: [] };
  }
}

/**
 * Reads a resolver written as `ip`, `ip:port` or `[ipv6]:port`; `undefined` when it is none of them.
 * `text` is the form that `Resolver.setServers` takes.
 */
export function parseResolver(written: string): { address: string; text: string } | undefined {
  const text = written.trim();
  if (isIPv6(text)) return { address: text, text: `[${text}]:53` };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? 53);
  const bracketed = match?.[1] !== undefined;
  if (isIP(address) !== (bracketed ? 6 : 4) || port < 1 || port > 65_535) return undefined;
  return { address, text: bracketed ? `[${address}]:${port}` : `${address}:${port}` };
}

async function recordsOf(
  resolver: Resolver,
  name: string,
  type: DnsConfig['record_type'],
): Promise<Forms[]> {
  switch (type) {
    case 'A':
      return (await resolver.resolve4(name)).map((address) => [address]);
    case 'AAAA':
      return (await resolver.resolve6(name)).map((address) => [address]);
    case 'CNAME':
      return (await resolver.resolveCname(name)).map((alias) => [alias]);
    case 'NS':
      return (await resolver.resolveNs(name)).map((server) => [server]);
    case 'PTR':
      return (await resolver.resolvePtr(reverseName(name))).map((host) => [host]);
    case 'TXT':
      return (await resolver.resolveTxt(name)).map((chunks) => [chunks.join('')]);
    case 'MX':
      return (await resolver.resolveMx(name)).map(({ priority, exchange }) => [
        `${priority} ${exchange}`,
        exchange,
      ]);
    case 'SRV':
      return (await resolver.resolveSrv(name)).map(({ priority, weight, port, name: host }) => [
        `${priority} ${weight} ${port} ${host}`,
        `${host}:${port}`,
        host,
      ]);
    case 'SOA': {
      const { nsname, hostmaster, serial } = await resolver.resolveSoa(name);
      return [[`${nsname} ${hostmaster} ${serial}`, String(serial), nsname]];
    }
    case 'CAA':
      return (await resolver.resolveCaa(name)).flatMap(({ critical, ...rest }) =>
        Object.entries(rest)
          // Node also gives a `type: "CAA"` in some versions; a record holds one property and its text.
          .filter(([property, value]) => property !== 'type' && typeof value === 'string')
          .map(([property, value]) => [
            `${critical} ${property} "${value}"`,
            `${critical} ${property} ${value}`,
            `${property} ${value}`,
            String(value),
          ]),
      );
  }
}

/**
 * An address is asked for by its reverse name (RFC 1035 §3.5, RFC 3596 §2.5). Not with `resolver.reverse`: that one
 * looks into the hosts file first.
 */
function reverseName(name: string): string {
  const address = readAddress(name);
  if (!address) return name;
  const bytes = address.toByteArray().reverse();
  if (address.kind() === 'ipv4') return `${bytes.join('.')}.in-addr.arpa`;
  const nibbles = bytes.flatMap((byte) => [byte & 15, byte >> 4]);
  return `${nibbles.map((nibble) => nibble.toString(16)).join('.')}.ip6.arpa`;
}
