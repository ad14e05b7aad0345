import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';

type ProxyAddress = ipaddr.IPv4 | ipaddr.IPv6;

type ProxyNetwork = [ProxyAddress, number];

/** A request's client and the address it used, as Fastify's `ip`, `protocol` and `host`. */
export interface RequestCaller {
  /** Absent once the connection is gone. */
  ip: string | undefined;
  protocol: string;
  host: string;
}

/** The most proxies in a chain; the rest of a longer `X-Forwarded-For` is ignored. */
const MAX_HOPS = 16;

/** The length of an IPv6 address with zone, brackets and port. */
const MAX_ENTRY_CHARACTERS = 80;

/** An IPv4 address with a port, or an IPv6 address in brackets with an optional port. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/;

const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'] as const;

/** The most untrusted proxies named in the log; any client can look like one. */
const MAX_NAMED = 10;

/** Finds the client behind trusted proxies. `networks` must be valid by `isProxyNetwork`. */
export function createTrustedProxies(networks: readonly string[], log: Logger) {
  const trusted = networks.map((text) => {
    const network = readNetwork(text);
    if (!network) throw new Error(`"${text}" is not a valid proxy network.`);
    return network;
  });
  const named = new Set<string>();

  function isTrusted(text: string | undefined): boolean {
    if (trusted.length === 0 || text === undefined) return false;
    const address = readAddress(text);
    return trusted.some(
      ([network, bits]) => network.kind() === address?.kind() && address.match(network, bits),
    );
  }

  /** Reads from the right, where the nearest proxy wrote. Entries beyond the first untrusted address may be forged. */
  function findClient(peer: string | undefined, header: string): string | undefined {
    let address = peer;
    let end = header.length;
    for (let hop = 0; hop < MAX_HOPS && end > 0 && isTrusted(address); hop += 1) {
      const comma = header.lastIndexOf(',', end - 1);
      const entry = readEntry(header.slice(comma + 1, end));
      if (entry === undefined) return address;
      address = entry;
      end = comma;
    }
    return address;
  }

  function nameOnce(peer: string | undefined) {
    if (peer === undefined || named.has(peer) || named.size >= MAX_NAMED) return;
    named.add(peer);
    log.warn(
      { proxy: peer },
      'an untrusted proxy forwards requests, so everyone behind it counts as one address; if it is yours, set TRUSTED_PROXIES to its address',
    );
  }

  /**
   * The address that trusted proxies name along the chain. Other addresses are removed from the request's `X-Forwarded-For`.
   * `undefined` once the connection is gone.
   */
  function addressOf(request: IncomingMessage): string | undefined {
    const { headers } = request;
    const peer = request.socket.remoteAddress;
    if (!isTrusted(peer)) {
      if (FORWARDED.some((name) => headers[name] !== undefined)) nameOnce(peer);
      return peer;
    }
    const header = headers['x-forwarded-for'];
    if (header === undefined) return peer;
    const address = findClient(peer, String(header));
    headers['x-forwarded-for'] = address;
    return address;
  }

  return {
    isTrusted,
    addressOf,
    /** Reads the headers of a trusted proxy as Fastify does: the last entry counts. */
    callerOf(request: IncomingMessage): RequestCaller {
      const { headers, socket } = request;
      const isProxy = isTrusted(socket.remoteAddress);
      const lastOf = (name: 'x-forwarded-proto' | 'x-forwarded-host') =>
        isProxy && headers[name] ? String(headers[name]).split(',').at(-1)?.trim() : undefined;
      return {
        ip: addressOf(request),
        protocol: lastOf('x-forwarded-proto') ?? 'http',
        host: lastOf('x-forwarded-host') ?? headers.host ?? '',
      };
    },
  };
}

/** True for an address, or a network in CIDR notation that doesn't cover all addresses. */
export const isProxyNetwork = (text: string): boolean => readNetwork(text) !== undefined;

function readNetwork(text: string): ProxyNetwork | undefined {
  const [written = '', length, more] = text.split('/');
  if (isIP(written) === 0 || written.includes('%') || more !== undefined) return undefined;
  const first = ipaddr.parse(written);
  const size = first.kind() === 'ipv4' ? 32 : 128;
  const bits = length === undefined ? size : /^\d{1,3}$/.test(length) ? Number(length) : 0;
  // IPv4-mapped IPv6 networks become IPv4 networks.
  const mapped = first instanceof ipaddr.IPv6 && first.isIPv4MappedAddress();
  const network: ProxyNetwork = mapped ? [first.toIPv4Address(), bits - 96] : [first, bits];
  return bits <= size && network[1] >= 1 ? network : undefined;
}

/** Valid only if both Node and ipaddr.js accept it: each accepts texts that the other rejects. */
function readAddress(text: string): ProxyAddress | undefined {
  return isIP(text) !== 0 && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function readEntry(text: string): string | undefined {
  if (text.length > MAX_ENTRY_CHARACTERS) return undefined;
  const entry = text.trim();
  const [, v4, v6] = WITH_PORT.exec(entry) ?? [];
  return readAddress(v4 ?? v6 ?? entry)?.toString();
}
