import ipaddr from 'ipaddr.js';

/**
 * What requests of one caller are counted by, from the address of a connection: an IPv4 address as it is, of an IPv6 one its
 * first 64 bits, as any host can take more addresses of its network than can be counted. Source: RFC 4291 §2.5.4, RFC 8981.
 */
export function clientKeyOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return address ?? '';
  // A socket for both families tells IPv4 addresses as `::ffff:192.0.2.1`.
  const read = ipaddr.process(address);
  if (!(read instanceof ipaddr.IPv6)) return read.toString();
  const network = read.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
