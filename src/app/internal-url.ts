import { networkInterfaces } from 'node:os';

/** Addresses that stand for all addresses of a machine. */
const ALL = new Set(['0.0.0.0', '::', '[::]']);

/**
 * The address at which other processes reach this one: `INTERNAL_URL` if it is set, else the address that it listens on; if
 * that is every address of the machine, the first one that other machines reach.
 */
export function internalUrl(
  configured: string | undefined,
  listeningUrl: string,
  interfaces = networkInterfaces(),
): string {
  if (configured !== undefined) return configured;
  const { hostname, port } = new URL(listeningUrl);
  const outward = Object.values(interfaces)
    .flat()
    .find((one) => one && !one.internal && one.family === 'IPv4');
  return ALL.has(hostname) && outward ? `http://${outward.address}:${port}` : listeningUrl;
}
