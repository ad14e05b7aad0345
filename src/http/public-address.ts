export interface RequestOrigin {
  /** `http` or `https`, by a trusted proxy or by the connection. */
  protocol: string;
  /** By a trusted proxy, or as the caller wrote it. */
  host: string;
  headers: { host?: string };
}

/** Returns this program's address without a trailing slash; with a request, the address that its caller used. */
export type AddressFor = (request?: RequestOrigin) => string;

/** A host with an optional port, without characters that could lead elsewhere or end the surrounding text. */
const HOST = /^([a-z\d_]([a-z\d._-]{0,251}[a-z\d_])?\.?|\[[\da-f:.]{2,45}\])(:\d{1,5})?$/i;

/** `PUBLIC_URL`, else the address of the request if others can reach the listener or a trusted proxy sent it, else the listening one. */
export function createPublicAddress(options: {
  publicUrl: string | undefined;
  isOpen: boolean;
  listening: () => string;
}): AddressFor {
  const { publicUrl, isOpen, listening } = options;
  return (request) => {
    if (publicUrl !== undefined) return publicUrl;
    if (request === undefined) return listening();
    // A host other than the request's own comes from a trusted proxy. So does HTTPS, because this server doesn't speak it.
    const isTold = isOpen || isHttps(request) || request.host !== request.headers.host;
    return (isTold && originOf(request)) || listening();
  };
}

/** The caller can send any host; an invalid one yields `undefined`. */
function originOf(request: RequestOrigin): string | undefined {
  const { host } = request;
  const origin = `${isHttps(request) ? 'https' : 'http'}://${host}`;
  return HOST.test(host) && URL.canParse(origin) ? origin : undefined;
}

/** A trusted proxy may write the protocol in capitals. */
export const isHttps = ({ protocol }: Pick<RequestOrigin, 'protocol'>): boolean =>
  protocol.toLowerCase() === 'https';
