import ipaddr from 'ipaddr.js';

/** An IPv4 address, or the /64 of an IPv6 address, because a host can use all of it. Source: RFC 4291 §2.5.4, RFC 8981. */
export function clientKeyOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return address ?? '';
  // A socket for both families tells IPv4 addresses as `::ffff:192.0.2.1`.
  const read = ipaddr.process(address);
  if (!(read instanceof ipaddr.IPv6)) return read.toString();
  const network = read.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
