import { forbidden } from '../http/errors.ts';

interface NamedRequest {
  /** By a trusted proxy, or as the caller wrote it. */
  host: string;
  headers: { origin?: string | string[] };
}

/** Throws the 403 of a request that comes under another's name, or from another's page. */
export type RequireOwnHost = (request: NamedRequest) => void;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Keeps out the pages of others, who reach a listener of this machine by a name of theirs that leads to it.
 * Source: MCP specification, "Transports", "Security Warning". Where others reach the listener, they do by whatever name their
 * network has for it, as in the addresses that we build; a browser says then all the same whose page it is.
 */
export function createRequireOwnHost(options: {
  publicUrl: string | undefined;
  /** True if other machines can reach the listener. */
  isOpen: boolean;
}): RequireOwnHost {
  const { publicUrl, isOpen } = options;
  const publicName = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  const isOwn = (name: string) => LOOPBACK.test(name) || name === publicName;
  return ({ host, headers: { origin } }) => {
    const name = nameIn(`http://${host}`);
    if (name === undefined || !(isOwn(name) || isOpen)) {
      throw forbidden(
        "The name in the Host header is not one of Askwatch's. Use localhost, or set PUBLIC_URL to the address that others use.",
      );
    }
    if (origin === undefined) return;
    const page = nameIn(String(origin));
    const isSamePage = isOpen && publicName === undefined && page === name;
    if (page === undefined || !(isOwn(page) || isSamePage)) {
      throw forbidden(
        'Pages of other sites cannot use this. Call it from a program, or from a page under the address in PUBLIC_URL.',
      );
    }
  };
}

/** The name in an address of the web, as it is looked up; `undefined` where there is none. */
function nameIn(address: string): string | undefined {
  const { protocol, hostname } = URL.canParse(address) ? new URL(address) : {};
  if (!hostname || !/^https?:$/.test(protocol ?? '')) return undefined;
  return hostname.replace(/\.$/, '');
}
