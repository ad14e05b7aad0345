/** Addresses of the loopback network: a host gets few checks at once, so monitors are spread over many. */
function hosts(network: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `127.${network}.0.${at + 1}`);
}

export const HOSTS = {
  http: hosts(1, 250),
  /** Hosts of the certificate `test/fixtures/tls/bench.pem`. */
  https: hosts(2, 16),
  silent: hosts(3, 250),
} as const;

export const RESOLVER_HOST = '127.4.0.1';

/** Targets, as `host:port`. */
export interface Upstream {
  http: string[];
  https: string[];
  /** Takes requests and never answers. */
  silent: string[];
  resolver: string;
}

/** A word of every page. */
export const KEYWORD = 'operational';

export const PAGE_TEXT = `All systems are ${KEYWORD}. ${'Last looked at a moment ago. '.repeat(6)}\n`;
