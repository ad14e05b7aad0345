import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address of it, and how many of its first bits all others share. */
type Network = [Address, number];

/** The sender of a request, and how it reached this program: what Fastify's request says as `ip`, `protocol` and `host`. */
export interface Caller {
  /** Absent once the connection is gone. */
  ip: string | undefined;
  protocol: string;
  host: string;
}

/** Proxies one behind another; what a longer `X-Forwarded-For` says besides is not read. */
const MAX_HOPS = 16;

/** An IPv6 address with a zone, in brackets and with a port, is no longer. */
const MAX_ENTRY_CHARACTERS = 80;

/** An address of IPv4 with a port, or one of IPv6 in brackets with or without. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/;

/** What a proxy says of a request that it hands on. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'] as const;

/** Addresses that the log names as proxies that are not trusted; any stranger may seem to be one. */
const MAX_NAMED = 10;

/** The proxies whose word on whom they ask for is believed. Takes networks and addresses that `isProxyNetwork` finds good. */
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

  /** From the right, where the nearest proxy has written: what is beyond the first stranger may be made up. */
  function alongTheWay(peer: string | undefined, header: string): string | undefined {
    let address = peer;
    let end = header.length;
    for (let hop = 0; hop < MAX_HOPS && end > 0 && isTrusted(address); hop += 1) {
      const comma = header.lastIndexOf(',', end - 1);
      const told = readEntry(header.slice(comma + 1, end));
      // Who says nothing that can be read is the last that is known.
      if (told === undefined) return address;
      address = told;
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
   * The client's address: the connection's, or if that is a trusted proxy, the one that the proxy names, and so on along the
   * chain. Other addresses are removed from the request's `X-Forwarded-For`. `undefined` once the connection is gone.
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
    const address = alongTheWay(peer, String(header));
    headers['x-forwarded-for'] = address;
    return address;
  }

  return {
    isTrusted,
    addressOf,
    /** Reads the headers of a trusted proxy as Fastify does: the last entry counts. */
    callerOf(request: IncomingMessage): Caller {
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

/** Whether a text is an address, or in CIDR notation a network, of something less than everybody. */
export const isProxyNetwork = (text: string): boolean => readNetwork(text) !== undefined;

function readNetwork(text: string): Network | undefined {
  const [written = '', length, more] = text.split('/');
  if (isIP(written) === 0 || written.includes('%') || more !== undefined) return undefined;
  const first = ipaddr.parse(written);
  const size = first.kind() === 'ipv4' ? 32 : 128;
  const bits = length === undefined ? size : /^\d{1,3}$/.test(length) ? Number(length) : 0;
  // Addresses of IPv4 in the clothes of IPv6 are read as what they are, and so are networks of them.
  const mapped = first instanceof ipaddr.IPv6 && first.isIPv4MappedAddress();
  const network: Network = mapped ? [first.toIPv4Address(), bits - 96] : [first, bits];
  return bits <= size && network[1] >= 1 ? network : undefined;
}

/** Both Node and ipaddr.js must know it: each reads texts that the other does not. */
function readAddress(text: string): Address | undefined {
  return isIP(text) !== 0 && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

/** One address of a header, without the port that some proxies add. */
function readEntry(text: string): string | undefined {
  if (text.length > MAX_ENTRY_CHARACTERS) return undefined;
  const entry = text.trim();
  const [, v4, v6] = WITH_PORT.exec(entry) ?? [];
  return readAddress(v4 ?? v6 ?? entry)?.toString();
}
