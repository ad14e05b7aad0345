import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * The IPv4 or IPv6 address that a text is, in the notations that both Node and ipaddr.js read; `undefined` when it is none.
 * Each reads what the other does not: Node any text as a zone (`::%.`), ipaddr.js IPv4 of fewer parts (`1.1.1`).
 */
export function readAddress(text: string): Address | undefined {
  return isIP(text) !== 0 && ipaddr.isValid(text) ? ipaddr.parse(text) : undefined;
}
