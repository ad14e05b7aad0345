import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { CheckFailure, errorCode } from './check-result.ts';

/** Lifetime of the resolver's settings and the hosts file in memory. */
const FRESH_MS = 30_000;

/** Finds the addresses of a name; throws a `CheckFailure` if there are none. */
export type NameLookup = (name: string) => Promise<string[]>;

/**
 * Looks names up as this machine does: `localhost`, the hosts file, then DNS. Not through `dns.lookup`: that one
 * waits in libuv's four threads, where a few dead names would also hold up every write to disk.
 * Source: Node.js docs, "dns: Implementation considerations". Search domains are not applied.
 */
export function createNameLookup(
  options: {
    /** Resolvers to ask, `ip` or `ip:port`; the system's when absent. */
    servers?: readonly string[];
    hostsFile?: string;
    nowMs?: () => number;
  } = {},
): NameLookup {
  const { servers, hostsFile = '/etc/hosts', nowMs = () => performance.now() } = options;
  const resolver = renewed(nowMs, () => {
    // Three tries, because c-ares allows less and less time to a fast resolver. The check's deadline limits them all.
    const made = new Resolver({ timeout: 2_000, tries: 3 });
    if (servers) made.setServers(servers);
    return made;
  });
  const hosts = renewed(nowMs, () => readHosts(hostsFile));

  return async (name) => {
    const key = name.toLowerCase().replace(/\.$/, '');
    // RFC 6761 §6.3: these names are this machine, whatever a resolver says.
    if (key === 'localhost' || key.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const listed = (await hosts()).get(key);
    if (listed) return listed;
    const answers = await Promise.allSettled([
      resolver().resolve4(key),
      resolver().resolve6(key),
    ] as const);
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    );
    if (addresses.length > 0) return addresses;
    throw nameFailure(answers.map((answer) => (answer.status === 'rejected' ? answer.reason : 0)));
  };
}

/** The failure of a look-up, by the first answer that says more than "no such record". */
function nameFailure(errors: readonly unknown[]): CheckFailure {
  const codes = errors.map(errorCode);
  if (codes.includes('ENOTFOUND')) {
    return new CheckFailure('name', 'the name does not exist (NXDOMAIN)');
  }
  const code = codes.find((one) => one !== undefined && one !== 'ENODATA');
  switch (code) {
    case undefined:
      return new CheckFailure('name', 'the name has no address');
    case 'ETIMEOUT':
      return new CheckFailure(
        'name',
        'the name could not be looked up: no answer from the resolver',
      );
    case 'ESERVFAIL':
      return new CheckFailure('name', 'the name could not be looked up (SERVFAIL)');
    default:
      return new CheckFailure('name', `the name could not be looked up (${code})`);
  }
}

async function readHosts(path: string): Promise<Map<string, string[]>> {
  const names = new Map<string, string[]>();
  // Some machines have no such file.
  const text = await readFile(path, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const [address, ...words] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    if (!address) continue;
    for (const word of words) names.set(word, [...(names.get(word) ?? []), address]);
  }
  return names;
}

/** Remembers a value for `FRESH_MS`. */
function renewed<T>(nowMs: () => number, make: () => T): () => T {
  let value: T | undefined;
  let madeMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (value === undefined || nowMs() - madeMs > FRESH_MS) {
      value = make();
      madeMs = nowMs();
    }
    return value;
  };
}
