import { Resolver } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import type { DnsConfig } from '../contracts/monitoring.ts';
import { unlessAborted } from './connect.ts';
import { CheckFailure, errorCode, notAllowed } from './failure.ts';
import type { TargetGuard } from './target-guard.ts';

/** Resolvers kept; each holds a socket only while it asks. */
const MAX_RESOLVERS = 256;

/** A system resolver older than this is made anew, since the machine's settings may have changed. */
const SYSTEM_FRESH_MS = 30_000;

/** Asks the resolver; passes, or throws a `CheckFailure` or the signal's reason. */
export type CheckDns = (
  monitor: { target: string; config: DnsConfig },
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<void>;

/** A record as text, in the forms an expected value may be written in; the last holds only its name or value. */
type Forms = string[];

/**
 * DNS checks over one resolver object per resolver address, as that is six times cheaper than one per check. The
 * resolver's address goes through the guard at every check; what the answers hold is only compared, never reached.
 */
export function createCheckDns(guard: TargetGuard): CheckDns {
  const resolvers = new Map<string, { resolver: Resolver; madeMs: number }>();

  function resolverFor(server: string | undefined, timeoutMs: number): Resolver {
    const key = `${server ?? 'system'} ${timeoutMs}`;
    const known = resolvers.get(key);
    const fresh =
      server !== undefined || (known?.madeMs ?? 0) > performance.now() - SYSTEM_FRESH_MS;
    if (known && fresh) return known.resolver;
    // One try: a check that repeats itself would hide what it is there to find.
    const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
    if (server !== undefined) resolver.setServers([server]);
    resolvers.delete(key);
    for (const [oldest] of resolvers) {
      if (resolvers.size < MAX_RESOLVERS) break;
      resolvers.delete(oldest);
    }
    resolvers.set(key, { resolver, madeMs: performance.now() });
    return resolver;
  }

  return async ({ target, config }, timeoutMs, signal) => {
    const server = config.resolver === undefined ? undefined : parseResolver(config.resolver);
    if (server && !guard.allows(server.address)) throw notAllowed('the resolver');
    const resolver = resolverFor(server?.text, timeoutMs);
    const records = await unlessAborted(ask(resolver, target, config.record_type), signal);
    if (records.length === 0) throw noRecords(config);
    const missing = config.expected.find(
      (wanted) => !records.some((forms) => forms.some((form) => isSame(form, wanted, config))),
    );
    if (missing !== undefined) {
      const found =
        records.length === 1 ? 'the one record' : `any of the ${records.length} records`;
      throw new CheckFailure('dns', `${missing} is not ${found} (${config.record_type}) found`);
    }
  };
}

/**
 * Reads a resolver written as `ip`, `ip:port` or `[ipv6]:port`; `undefined` when it is none of them.
 * `text` is the form that `Resolver.setServers` takes.
 */
export function parseResolver(written: string): { address: string; text: string } | undefined {
  const text = written.trim();
  if (isIPv6(text)) return { address: text, text: `[${text}]:53` };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? 53);
  const bracketed = match?.[1] !== undefined;
  if (isIP(address) !== (bracketed ? 6 : 4) || port < 1 || port > 65_535) return undefined;
  return { address, text: bracketed ? `[${address}]:${port}` : `${address}:${port}` };
}

async function ask(
  resolver: Resolver,
  name: string,
  type: DnsConfig['record_type'],
): Promise<Forms[]> {
  try {
    switch (type) {
      case 'A':
        return (await resolver.resolve4(name)).map((address) => [address]);
      case 'AAAA':
        return (await resolver.resolve6(name)).map((address) => [address]);
      case 'CNAME':
        return (await resolver.resolveCname(name)).map((alias) => [alias]);
      case 'NS':
        return (await resolver.resolveNs(name)).map((server) => [server]);
      case 'PTR':
        // An address is asked for by its reverse name.
        return isIP(name)
          ? (await resolver.reverse(name)).map((host) => [host])
          : (await resolver.resolvePtr(name)).map((host) => [host]);
      case 'TXT':
        return (await resolver.resolveTxt(name)).map((chunks) => [chunks.join('')]);
      case 'MX':
        return (await resolver.resolveMx(name)).map(({ priority, exchange }) => [
          `${priority} ${exchange}`,
          exchange,
        ]);
      case 'SRV':
        return (await resolver.resolveSrv(name)).map(({ priority, weight, port, name: host }) => [
          `${priority} ${weight} ${port} ${host}`,
          `${host}:${port}`,
          host,
        ]);
      case 'SOA': {
        const { nsname, hostmaster, serial } = await resolver.resolveSoa(name);
        return [[`${nsname} ${hostmaster} ${serial}`, String(serial), nsname]];
      }
      case 'CAA':
        return (await resolver.resolveCaa(name)).flatMap(({ critical, ...rest }) =>
          Object.entries(rest)
            // Node also gives a `type: "CAA"` in some versions; a record holds one property and its text.
            .filter(([property, value]) => property !== 'type' && typeof value === 'string')
            .map(([property, value]) => [
              `${critical} ${property} "${value}"`,
              `${critical} ${property} ${value}`,
              `${property} ${value}`,
              String(value),
            ]),
        );
    }
  } catch (error) {
    throw dnsFailure(error, type);
  }
}

/** Names are the same in any case and with or without the last dot; texts are not. */
function isSame(form: string, wanted: string, { record_type }: DnsConfig): boolean {
  if (record_type === 'TXT') return form === wanted;
  const plain = (text: string) => text.trim().toLowerCase().replace(/\.$/, '');
  return plain(form) === plain(wanted);
}

const noRecords = ({ record_type }: Pick<DnsConfig, 'record_type'>) =>
  new CheckFailure('dns', `the name has no ${record_type} record`);

/** Source: Node.js docs, "dns: Error codes". */
function dnsFailure(error: unknown, type: DnsConfig['record_type']): CheckFailure {
  const code = errorCode(error) ?? 'unknown error';
  const say = (reason: string) => new CheckFailure('dns', reason, { cause: error });
  switch (code) {
    case 'ENODATA':
      return noRecords({ record_type: type });
    case 'ENOTFOUND':
      return say('the name does not exist (NXDOMAIN)');
    case 'ESERVFAIL':
      return say('the resolver failed (SERVFAIL)');
    case 'EREFUSED':
      return say('the resolver refused to answer (REFUSED)');
    case 'ETIMEOUT':
      return new CheckFailure('timeout', 'the resolver is silent', { cause: error });
    case 'ECONNREFUSED':
      return say('nothing answers at the resolver');
    case 'EBADRESP':
      return say('the answer of the resolver cannot be read');
    default:
      return say(`the look-up failed (${code})`);
  }
}
