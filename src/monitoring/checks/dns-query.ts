import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns';
import { once } from 'node:events';
import { connect, isIP, isIPv6 } from 'node:net';
import type { DnsConfig } from '../../contracts/monitoring.ts';
import { memoize } from '../time/memoize.ts';
import { readAddress } from './address.ts';
import { CLOSED_EARLY } from './check-result.ts';
import { unlessAborted } from './connect.ts';
import {
  type DnsMessage,
  DnsMessageError,
  decodeAnswer,
  encodeQuestion,
  type Forms,
  isAnswerTo,
} from './dns-message.ts';

/** What a resolver answered. */
export interface DnsAnswer {
  rcode: DnsConfig['rcode'];
  records: Forms[];
}

/** Who is asked. */
export interface DnsServer {
  /** An IPv4 or IPv6 literal. */
  address: string;
  port: number;
  /** `address:port`, with brackets around IPv6. */
  text: string;
}

/** Source: RFC 1035 §4.1.1. */
const RCODES: Readonly<Record<number, DnsConfig['rcode']>> = {
  0: 'NOERROR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  5: 'REFUSED',
};

/** How long a socket takes new questions: of many in a row most share one, and its port is soon another (RFC 5452 §9.2). */
const SOCKET_FRESH_MS = 1_000;

/**
 * Questions open on one socket: the kernel drops what its buffer has no room for, and it has some for 80 of the largest
 * answers. Source: socket(7), `rmem_default`; RFC 1035 §4.2.1.
 */
const MAX_OPEN = 64;

/** Resolvers that are not read anew at each check. */
const MAX_PARSED = 1_000;

/**
 * Reads a resolver written as `ip`, `ip:port` or `[ipv6]:port`; `undefined` when it is none of them.
 */
export const parseResolver = memoize(MAX_PARSED, (written: string): DnsServer | undefined => {
  const text = written.trim();
  if (isIPv6(text)) return { address: text, port: 53, text: `[${text}]:53` };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? 53);
  const bracketed = match?.[1] !== undefined;
  if (isIP(address) !== (bracketed ? 6 : 4) || port < 1 || port > 65_535) return undefined;
  return { address, port, text: bracketed ? `[${address}]:${port}` : `${address}:${port}` };
});

/** A new object each time: one reads the machine's settings when it is made, and a machine may change its network. */
export const currentResolvers = () => new Resolver().getServers();

/** Asks resolvers, for DNS checks. */
export type DnsClient = ReturnType<typeof createDnsClient>;

/** What is asked for. */
interface Asked {
  name: string;
  type: DnsConfig['record_type'];
}

/** A socket to a resolver, and the questions that are open on it, by their ids. */
interface Line {
  socket: Socket;
  ready: Promise<unknown>;
  open: Map<
    number,
    { bytes: Buffer; resolve: (answer: Buffer) => void; reject: (error: unknown) => void }
  >;
  /** It takes no more questions. */
  retired: boolean;
  retire: () => void;
}

/** Source: RFC 1035 §4.1.1. */
const MAX_IDS = 0x10000;

/**
 * Asks over UDP, once, and over TCP when the answer was cut short. Not through `node:dns`: c-ares opens a socket for each
 * question, and remembers how fast a server is and then gives it only five times as long, which would make a timeout of
 * every answer that is merely slow. Source: c-ares 1.34, ares_metrics.c.
 */
export function createDnsClient(
  options: {
    /** Those that this machine asks, as they are at each question. */
    systemServers?: () => string[];
  } = {},
) {
  const { systemServers = currentResolvers } = options;
  const lines = new Map<string, Line>();

  function openLine(server: DnsServer): Line {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4').unref();
    const timer = setTimeout(retire, SOCKET_FRESH_MS).unref();
    const line: Line = {
      socket,
      ready: once(socket, 'connect'),
      open: new Map(),
      retired: false,
      retire,
    };
    // Connected, so that only this server is heard, and that it is known when nobody listens there.
    socket.connect(server.port, server.address);
    // Those who wait for it have the error.
    line.ready.catch(() => {});
    lines.set(server.text, line);
    function retire() {
      if (line.retired) return;
      line.retired = true;
      clearTimeout(timer);
      lines.delete(server.text);
      closeWhenDone(line);
    }
    socket.on('message', (message) => {
      const question = message.length < 2 ? undefined : line.open.get(message.readUInt16BE(0));
      if (question && isAnswerTo(message, question.bytes)) question.resolve(message);
    });
    socket.on('error', (error) => {
      for (const { reject } of line.open.values()) reject(error);
      retire();
    });
    return line;
  }

  async function askOverUdp(
    server: DnsServer,
    { name, type }: Asked,
    signal: AbortSignal,
  ): Promise<{ message: DnsMessage; question: Buffer }> {
    const line = lines.get(server.text) ?? openLine(server);
    const { socket, ready, open } = line;
    let id = randomInt(MAX_IDS);
    while (open.has(id)) id = randomInt(MAX_IDS);
    const question = encodeQuestion(id, name, type);
    const answer = new Promise<Buffer>((resolve, reject) => {
      open.set(id, { bytes: question, resolve, reject });
      const send = () => {
        // It may have been broken off meanwhile, and its socket closed.
        if (open.has(id)) socket.send(question, (error) => error && reject(error));
      };
      ready.then(send).catch(reject);
    });
    if (open.size === MAX_OPEN) line.retire();
    try {
      const message = await unlessAborted(answer, signal);
      return { message: decodeAnswer(message, question, type), question };
    } finally {
      open.delete(id);
      closeWhenDone(line);
    }
  }

  async function askServer(
    server: DnsServer,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<DnsAnswer> {
    const { message, question } = await askOverUdp(server, asked, signal);
    const { rcode, records } = message.truncated
      ? decodeAnswer(await askOverTcp(server, question, signal), question, asked.type)
      : message;
    const said = RCODES[rcode];
    if (said === undefined) throw Object.assign(new Error(), { code: `answer code ${rcode}` });
    return { rcode: said, records: said === 'NOERROR' ? records : [] };
  }

  return {
    /**
     * Asks `server`, or else those of the system one after the other, which then share the time; for an address, by its reverse
     * name. Throws the signal's reason, or an error with a `code` when there is no answer to be read.
     */
    async ask(
      server: DnsServer | undefined,
      { name, type }: Asked,
      { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
    ): Promise<DnsAnswer> {
      const asked = { name: type === 'PTR' ? reverseName(name) : name, type };
      const servers = server
        ? [server]
        : systemServers().flatMap((text) => parseResolver(text) ?? []);
      const last = servers.pop();
      if (last === undefined) throw new TypeError('This machine has no resolvers.');
      for (const each of servers) {
        const share = AbortSignal.timeout(timeoutMs / (servers.length + 1));
        try {
          return await askServer(each, asked, AbortSignal.any([signal, share]));
        } catch {
          // Another may be there.
          signal.throwIfAborted();
        }
      }
      return await askServer(last, asked, signal);
    },
  };
}

/** Nobody is left who waits for an answer. */
function closeWhenDone({ socket, open, retired }: Line): void {
  if (retired && open.size === 0) socket.close();
}

/** Source: RFC 1035 §4.2.2: the length goes before the message. */
async function askOverTcp(
  { address, port }: DnsServer,
  question: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = connect({ host: address, port });
  const answer = new Promise<Buffer>((resolve, reject) => {
    let received = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      const end = received.length < 2 ? Infinity : 2 + received.readUInt16BE(0);
      if (received.length < end) return;
      const message = received.subarray(2, end);
      if (isAnswerTo(message, question)) resolve(message);
      else reject(new DnsMessageError('EBADRESP', 'The answer is for another question.'));
    });
    socket.on('error', reject);
    socket.once('close', () => reject(CLOSED_EARLY));
  });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(question.length);
  socket.write(Buffer.concat([length, question]));
  try {
    return await unlessAborted(answer, signal);
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
