import { literalAddress } from '../../http/address.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { isHostName } from './target.ts';

export interface HostPort {
  /** In the form of a URL: lower case, an IPv6 address in brackets. */
  hostname: string;
  /** 1 to 65535, in digits. */
  port: string;
}

/**
 * A host and a port as people write them, such as `db.example:5432`, `[2001:db8::7]:22` or `tcp://db.example:5432`.
 * Not a URL by itself: `new URL('db:5432')` has a scheme `db:` and no host.
 */
const HOST_PORT = /^(?:tcp:\/\/)?(\[[^\]]*\]|[^:[\]]+)(?::(\d{1,5}))?\/?$/i;

/** Reads a host and a port, which may have a default. Throws a 400 that says how to write them. */
export function parseHostPort(target: string, example: string, defaultPort?: string): HostPort {
  const [, host = '', port = defaultPort] = HOST_PORT.exec(target) ?? [];
  // These characters would end the host in a URL.
  const isHost = host !== '' && !/[\s\p{Cc}/?#@\\%]/u.test(host);
  const text = `http://${host}/`;
  if (!isHost || !URL.canParse(text)) {
    if (/^[\da-f]*:[\da-f.]*:[\da-f:.]*$/i.test(target)) {
      throw invalid('target', 'put an IPv6 address in brackets, such as [2001:db8::7]:5432');
    }
    throw invalid('target', `must be a host and a port, such as ${example}`);
  }
  const { hostname } = new URL(text);
  if (port === undefined) throw invalid('target', `add the port, such as ${example}`);
  if (Number(port) < 1 || Number(port) > 65_535) {
    throw invalid('target', 'the port must be a number from 1 to 65535');
  }
  if (literalAddress(hostname) === undefined && !isHostName(hostname)) {
    throw invalid('target', 'the host is not a valid name');
  }
  return { hostname, port: String(Number(port)) };
}

export function hostPortOf(target: string): HostPort | undefined {
  try {
    return parseHostPort(target, '');
  } catch {
    return undefined;
  }
}

/** Throws a 400 for a name that no certificate can have. */
export function admitServerName(name: string | undefined): void {
  if (name === undefined) return;
  if (literalAddress(name) !== undefined || !isHostName(name)) {
    throw invalid('config.server_name', 'must be a host name, such as example.com');
  }
}
