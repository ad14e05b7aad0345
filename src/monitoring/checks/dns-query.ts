import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns';
import { connect, isIP, isIPv6 } from 'node:net';
import type { DnsConfig } from '../../contracts/monitoring.ts';
import { readAddress } from '../../http/address.ts';
import { CLOSED_EARLY } from './check-result.ts';
import { unlessAborted } from './connect.ts';
import {
  type DnsMessage,
  type DnsQuestion,
  encodeQuestion,
  nameInQuestion,
  type RecordForms,
  readAnswer,
} from './dns-message.ts';

export interface DnsAnswer {
  rcode: DnsConfig['rcode'];
  records: RecordForms[];
}

export interface DnsServer {
  /** An IPv4 or IPv6 literal. */
  address: string;
  port: number;
  /** `address:port`, with brackets around IPv6. */
  text: string;
}

export type DnsClient = ReturnType<typeof createDnsClient>;

/** Source: RFC 1035 §4.1.1. */
const RCODES: Readonly<Record<number, DnsConfig['rcode']>> = {
  0: 'NOERROR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  5: 'REFUSED',
};

/** Source: RFC 1035 §4.1.1. */
const MAX_IDS = 0x10000;

/**
 * Asks over UDP, once, and over TCP if the answer was cut short. Not through `node:dns`: c-ares remembers how fast a server is
 * and then gives it only five times as long, so every slow answer would look like a timeout. Source: c-ares 1.34, ares_metrics.c.
 */
export function createDnsClient({
  systemServers = currentResolvers,
}: {
  /** Reads this machine's resolvers, at each question. */
  systemServers?: () => string[];
} = {}) {
  return {
    /**
     * Asks `server`, or the system's resolvers one after another, which then share the time. An address is asked for by its
     * reverse name. Throws the signal's reason, or an error with a `code` if there is no readable answer.
     */
    async ask(
      server: DnsServer | undefined,
      { name, type }: Pick<DnsQuestion, 'name' | 'type'>,
      { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
    ): Promise<DnsAnswer> {
      const question = { name: nameInQuestion(type === 'PTR' ? reverseName(name) : name), type };
      const servers = server
        ? [server]
        : systemServers().flatMap((text) => parseResolver(text) ?? []);
      const last = servers.pop();
      if (last === undefined) throw new TypeError('This machine has no resolvers.');
      for (const each of servers) {
        const share = AbortSignal.timeout(timeoutMs / (servers.length + 1));
        try {
          return await askServer(each, question, AbortSignal.any([signal, share]));
        } catch {
          // The next resolver may answer.
          signal.throwIfAborted();
        }
      }
      return await askServer(last, question, signal);
    },
  };
}

/** Reads a resolver written as `ip`, `ip:port` or `[ipv6]:port`; anything else gives `undefined`. */
export function parseResolver(written: string): DnsServer | undefined {
  const text = written.trim();
  if (isIPv6(text)) return { address: text, port: 53, text: `[${text}]:53` };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? 53);
  const bracketed = match?.[1] !== undefined;
  if (isIP(address) !== (bracketed ? 6 : 4) || port < 1 || port > 65_535) return undefined;
  return { address, port, text: bracketed ? `[${address}]:${port}` : `${address}:${port}` };
}

/** This machine's resolvers. A new `Resolver` each time reads the settings again, because a machine may change its network. */
export const currentResolvers = () => new Resolver().getServers();

async function askServer(
  server: DnsServer,
  asked: Pick<DnsQuestion, 'name' | 'type'>,
  signal: AbortSignal,
): Promise<DnsAnswer> {
  const question = { ...asked, id: randomInt(MAX_IDS) };
  let message = await askOverUdp(server, question, signal);
  if (message.truncated) message = await askOverTcp(server, question, signal);
  const rcode = RCODES[message.rcode];
  if (rcode === undefined) {
    throw Object.assign(new Error(), { code: `answer code ${message.rcode}` });
  }
  return { rcode, records: rcode === 'NOERROR' ? message.records : [] };
}

/** A new socket for each question has a new random port, which makes forged answers harder (RFC 5452 §9.2). */
async function askOverUdp(
  { address, port }: DnsServer,
  question: DnsQuestion,
  signal: AbortSignal,
): Promise<DnsMessage> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const answer = new Promise<DnsMessage>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (bytes) => {
      try {
        const message = readAnswer(bytes, question);
        if (message) resolve(message);
      } catch (error) {
        reject(error);
      }
    });
    // A connected socket receives only from this server, and learns if nothing listens there.
    socket.connect(port, address, () => socket.send(encodeQuestion(question)));
  });
  try {
    return await unlessAborted(answer, signal);
  } finally {
    socket.close();
  }
}

/** The length goes before the message. Source: RFC 1035 §4.2.2. */
async function askOverTcp(
  { address, port }: DnsServer,
  question: DnsQuestion,
  signal: AbortSignal,
): Promise<DnsMessage> {
  const socket = connect({ host: address, port });
  const answer = new Promise<Buffer>((resolve, reject) => {
    let received = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      const end = received.length < 2 ? Infinity : 2 + received.readUInt16BE(0);
      if (received.length >= end) resolve(received.subarray(2, end));
    });
    socket.on('error', reject);
    socket.once('close', () => reject(CLOSED_EARLY));
  });
  const bytes = encodeQuestion(question);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  socket.write(Buffer.concat([length, bytes]));
  try {
    const message = readAnswer(await unlessAborted(answer, signal), question);
    if (message) return message;
    throw Object.assign(new Error('The answer is for another question.'), { code: 'EBADRESP' });
  } finally {
    socket.destroy();
  }
}

/** The reverse name of an address. Source: RFC 1035 §3.5, RFC 3596 §2.5. */
function reverseName(name: string): string {
  const address = readAddress(name);
  if (!address) return name;
  const bytes = address.toByteArray().reverse();
  if (address.kind() === 'ipv4') return `${bytes.join('.')}.in-addr.arpa`;
  const nibbles = bytes.flatMap((byte) => [byte & 15, byte >> 4]);
  return `${nibbles.map((nibble) => nibble.toString(16)).join('.')}.ip6.arpa`;
}
