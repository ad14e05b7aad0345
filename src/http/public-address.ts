/** What is known of a request that an address is built for, as the server tells it. */
export interface RequestOrigin {
  /** `http` or `https`, by a trusted proxy or by the connection. */
  protocol: string;
  /** By a trusted proxy, or as the caller wrote it. */
  host: string;
  headers: { host?: string | undefined };
}

/** Where others reach this program, without a slash at its end; of one request, where its caller reached it. */
export type AddressFor = (request?: RequestOrigin) => string;

/** A name or an address with or without a port, and nothing that could lead elsewhere or end a text around it. */
const HOST = /^([a-z\d_]([a-z\d._-]{0,251}[a-z\d_])?\.?|\[[\da-f:.]{2,45}\])(:\d{1,5})?$/i;

/**
 * The one place where an address of this program is built that others are to use: `PUBLIC_URL` where it is set; else that
 * under which a request came, where others can reach the listener or a trusted proxy told it; else the listening address.
 */
export function createPublicAddress(options: {
  publicUrl: string | undefined;
  /** Whether the listener can be reached from beyond this machine. */
  isOpen: boolean;
  /** Where it listens; asked for when it does. */
  listening: () => string;
}): AddressFor {
  const { publicUrl, isOpen, listening } = options;
  return (request) => {
    if (publicUrl !== undefined) return publicUrl;
    if (request === undefined) return listening();
    // What differs from what stands in the request comes from a proxy that is trusted, and so does HTTPS, which we do not speak.
    const isTold = isOpen || isHttps(request) || request.host !== request.headers.host;
    return (isTold && originOf(request)) || listening();
  };
}

/** `undefined` where the host is no good one: it is whatever the caller wrote. */
function originOf(request: RequestOrigin): string | undefined {
  const { host } = request;
  const origin = `${isHttps(request) ? 'https' : 'http'}://${host}`;
  return HOST.test(host) && URL.canParse(origin) ? origin : undefined;
}

/** Whether a trusted proxy says that it was asked over HTTPS; it may write that in capitals. */
export const isHttps = ({ protocol }: Pick<RequestOrigin, 'protocol'>): boolean =>
  protocol.toLowerCase() === 'https';
