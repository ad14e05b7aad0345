import { connect } from 'node:net';
import { isLoopback } from '../../http/address.ts';
import { errorCode } from '../checks/check-result.ts';
import { currentResolvers, parseResolver } from '../checks/dns-query.ts';

/** Longer than a lost first packet takes to be sent again, 1 s. Source: RFC 6298 §2.1. */
const TIMEOUT_MS = 2_500;

/**
 * Probes our own network: it is up if any anchor answers over TCP, even with a refusal. Anchors are `ip` (port 53) or `ip:port`,
 * by default the current resolvers of this machine.
 */
export function createProbe(
  options: { anchors?: readonly string[]; resolvers?: () => readonly string[] } = {},
) {
  const { resolvers = currentResolvers } = options;
  const anchors = () =>
    (options.anchors ?? resolvers())
      .flatMap((text) => parseResolver(text) ?? [])
      .filter(({ address }) => !isLoopback(address));
  return {
    /** Resolves within 2.5 s and never rejects; `true` where it cannot tell. */
    async isThere(): Promise<boolean> {
      const reachable = anchors();
      if (reachable.length === 0) return true;
      return await Promise.any(
        reachable.map(({ address: host, port }) => reach({ host, port }, TIMEOUT_MS)),
      ).then(
        () => true,
        () => false,
      );
    },
    /** At least one anchor is not this machine itself, which always answers. */
    canTell: () => anchors().length > 0,
  };
}

/** Resolves if something answers there, even with a refusal; rejects if nothing does. */
export function reach(anchor: { host: string; port: number }, timeoutMs: number): Promise<void> {
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
