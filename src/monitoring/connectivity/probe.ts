import { Resolver } from 'node:dns';
import { connect, isIP } from 'node:net';
import { isLoopback } from '../checks/address.ts';
import { errorCode } from '../checks/check-result.ts';

const DNS_PORT = 53;

/** Longer than a lost first packet takes to be sent again, 1 s. Source: RFC 6298 §2.1. */
const TIMEOUT_MS = 2_500;

/** Asks whether our own network is there. */
export interface Probe {
  /** Resolves within `timeoutMs` and never rejects; `true` where it cannot tell. */
  isThere(): Promise<boolean>;
  /** Whether there is any anchor but this machine itself, which answers whatever becomes of the network. */
  canTell(): boolean;
}

/**
 * Makes a probe: whether any of the anchors answers over TCP, be it with a refusal. Anchors are `ip` (port 53) or
 * `ip:port`; the resolvers of this machine when absent, as they are at each question.
 */
export function createProbe(
  options: {
    anchors?: readonly string[] | undefined;
    resolvers?: () => readonly string[];
    timeoutMs?: number;
  } = {},
): Probe {
  const { resolvers = currentResolvers, timeoutMs = TIMEOUT_MS } = options;
  const anchors = () =>
    (options.anchors ?? resolvers()).map(addressOf).filter(({ host }) => !isLoopback(host));
  return {
    async isThere() {
      const asked = anchors();
      if (asked.length === 0) return true;
      return await Promise.any(asked.map((anchor) => reach(anchor, timeoutMs))).then(
        () => true,
        () => false,
      );
    },
    canTell: () => anchors().length > 0,
  };
}

/** A new object each time: one reads the machine's settings when it is made, and a machine may change its network. */
const currentResolvers = () => new Resolver().getServers();

interface Anchor {
  host: string;
  port: number;
}

/** Reads `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1` and `[2001:db8::1]:53`. Source: Node.js docs, `dns.getServers`. */
function addressOf(text: string): Anchor {
  if (isIP(text) !== 0) return { host: text, port: DNS_PORT };
  const [, host = text, port] = /^\[?([^\]]+)\]?:(\d+)$/.exec(text) ?? [];
  return { host, port: port === undefined ? DNS_PORT : Number(port) };
}

/** Resolves when something answers there, be it with a refusal; rejects when nothing does. */
export function reach(anchor: Anchor, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...anchor, signal: AbortSignal.timeout(timeoutMs) });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    // A refusal came over the network too.
    socket.once('error', (error) =>
      errorCode(error) === 'ECONNREFUSED' ? resolve() : reject(error),
    );
  });
}
