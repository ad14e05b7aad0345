import { getServers } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import type { DnsConfig } from '../../contracts/monitoring.ts';
import { readAddress } from './address.ts';
import { errorCode } from './check-result.ts';

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
export function parseResolver(
  written: string,
): { address: string; port: number; text: string } | undefined {
  const text = written.trim();
  if (isIPv6(text)) return { address: text, port: 53, text: `[${text}]:53` };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? 53);
  const bracketed = match?.[1] !== undefined;
  if (isIP(address) !== (bracketed ? 6 : 4) || port < 1 || port > 65_535) return undefined;
  return { address, port, text: bracketed ? `[${address}]:${port}` : `${address}:${port}` };
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

/** Longer than any deadline, so that the deadline decides. */
const NEVER_MS = 3_600_000;

/** Resolver objects kept for the next question; making one costs as much as a question. */
const MAX_IDLE = 64;

/** Stands for no server: nothing is sent there. */
const NOWHERE = ['0.0.0.1:1'];

/** Resolver objects for DNS checks, each for one question at a time and one try. */
export type Resolvers = ReturnType<typeof createResolvers>;

/**
 * A pool that lets no resolver learn: c-ares remembers how fast a server is and then gives it only five times as long,
 * which would make a timeout of every answer that is merely slow. It forgets with the server itself.
 * Source: c-ares 1.34, ares_metrics.c and ares_update_servers.c.
 */
export function createResolvers() {
  const idle: Resolver[] = [];
  // Not those that ask the system's resolvers: the machine's settings may change.
  const pooled = new WeakSet<Resolver>();
  return {
    /** One that asks `server` (`ip:port`), or the system's resolvers, which then share the time. */
    take(server: string | undefined, timeoutMs: number): Resolver {
      if (server === undefined) {
        return new Resolver({ timeout: Math.ceil(timeoutMs / getServers().length), tries: 1 });
      }
      // One try: a check that repeats itself would hide what it is there to find.
      const resolver = idle.pop() ?? new Resolver({ timeout: NEVER_MS, tries: 1 });
      pooled.add(resolver);
      resolver.setServers(NOWHERE);
      resolver.setServers([server]);
      return resolver;
    },
    /** Breaks off what it still waits for and keeps it for the next question. */
    giveBack(resolver: Resolver): void {
      resolver.cancel();
      if (pooled.has(resolver) && idle.length < MAX_IDLE) idle.push(resolver);
    },
  };
}
