import { domainToASCII } from 'node:url';
import { type DnsConfig, DnsMonitor } from '../../contracts/monitoring.ts';
import { literalAddress, readAddress } from '../../http/address.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import type { SsrfGuard } from '../../http/ssrf-guard.ts';
import { CheckFailure, errorCode, notAllowed } from './check-result.ts';
import type { ProbedType } from './check-type.ts';
import type { RecordForms } from './dns-message.ts';
import { type DnsAnswer, parseResolver } from './dns-query.ts';
import { isHostName, targetNotAllowed } from './target.ts';

/**
 * DNS: UP if a resolver answers as expected. The guard checks the resolver's address at every check. Records are only compared, never
 * contacted or shown, because the system's resolver may know private names.
 */
export const dns: ProbedType<DnsMonitor> = {
  schema: DnsMonitor,
  admit({ target, config }, { guard }) {
    admitName(target, config.record_type);
    admitExpected(config);
    admitResolver(config.resolver, guard);
  },
  limitedHost: ({ target }) => `dns:${target.toLowerCase()}`,
  contactedHost: ({ target, config: { resolver } }) =>
    (resolver && parseResolver(resolver)?.address) ?? target,
  async probe({ target, config }, context, { guard, dnsClient }) {
    const server = config.resolver === undefined ? undefined : parseResolver(config.resolver);
    if (server && !guard.allows(server.address)) throw notAllowed('the resolver');
    context.step = 'answer';
    context.peer = server ? `the resolver ${server.text}` : 'the resolver';
    const asked = { name: target, type: config.record_type };
    try {
      judge(await dnsClient.ask(server, asked, context), config, context.peer);
    } catch (error) {
      context.signal.throwIfAborted();
      throw error instanceof CheckFailure ? error : dnsFailure(error, context.peer);
    }
  },
};

function admitName(target: string, recordType: string): void {
  if (target.includes('/') || target.includes('@')) {
    const host = URL.canParse(target) ? new URL(target).hostname : '';
    const example = isHostName(host) ? host : 'example.com';
    throw invalid('target', `must be only the name, such as ${example}`);
  }
  if (literalAddress(target) !== undefined) {
    if (recordType === 'PTR') return;
    throw invalid('target', 'must be a name; an address works only with the record type PTR');
  }
  if (!isHostName(domainToASCII(target) || target)) {
    throw invalid('target', 'must be a DNS name, such as example.com');
  }
}

function admitExpected({ rcode, expected, match }: DnsConfig): void {
  if (rcode !== 'NOERROR' && expected.length > 0) {
    throw invalid('config.expected', `an answer of ${rcode} has no values; leave this out`);
  }
  if (match === 'exact' && expected.length === 0) {
    throw invalid('config.expected', 'list the expected values, or leave out match');
  }
}

function admitResolver(resolver: string | undefined, guard: SsrfGuard): void {
  if (resolver === undefined) return;
  const parsed = parseResolver(resolver);
  if (parsed === undefined) {
    throw invalid(
      'config.resolver',
      'must be an address, optionally with a port, such as 9.9.9.9 or 9.9.9.9:53',
    );
  }
  if (!guard.allows(parsed.address)) throw targetNotAllowed('config.resolver');
}

function judge({ rcode, records }: DnsAnswer, config: DnsConfig, resolver: string): void {
  const { record_type, expected, match } = config;
  if (rcode !== config.rcode) throw wrongRcode(rcode, config.rcode, resolver);
  if (rcode !== 'NOERROR') return;
  if (records.length === 0) throw new CheckFailure('dns', `the name has no ${record_type} record`);
  if (expected.length === 0) return;
  const isThere = (wanted: string) => records.some((forms) => isOneOf(forms, wanted, record_type));
  if (match === 'any') {
    if (expected.some(isThere)) return;
    throw new CheckFailure(
      'dns',
      `found none of the expected values in ${recordsInWords(records.length, record_type)}`,
    );
  }
  const missing = expected.find((wanted) => !isThere(wanted));
  if (missing !== undefined) {
    throw new CheckFailure(
      'dns',
      `${missing} not found in ${recordsInWords(records.length, record_type)}`,
    );
  }
  if (match === 'all') return;
  const others = records.filter(
    (forms) => !expected.some((wanted) => isOneOf(forms, wanted, record_type)),
  ).length;
  if (others === 0) return;
  const found = `${others} of ${recordsInWords(records.length, record_type)}`;
  throw new CheckFailure('dns', `${found} ${others === 1 ? 'is' : 'are'} unexpected`);
}

const recordsInWords = (count: number, type: DnsConfig['record_type']) =>
  `${count} ${type} ${count === 1 ? 'record' : 'records'}`;

/** Names match in any case and with or without the last dot; texts must be equal. */
function isOneOf(forms: RecordForms, wanted: string, type: DnsConfig['record_type']): boolean {
  if (type === 'TXT') return forms.includes(wanted);
  const plain = plainly(wanted);
  return forms.some((form) => plainly(form) === plain);
}

function plainly(text: string): string {
  const plain = text.trim().toLowerCase().replace(/\.$/, '');
  const address = readAddress(plain);
  return address?.kind() === 'ipv6' ? address.toString() : plain;
}

const RCODE_WORDS: Record<DnsConfig['rcode'], (resolver: string) => string> = {
  NOERROR: (resolver) => `${resolver} answered NOERROR`,
  NXDOMAIN: () => 'the name does not exist (NXDOMAIN)',
  SERVFAIL: (resolver) => `${resolver} failed (SERVFAIL)`,
  REFUSED: (resolver) => `${resolver} refused to answer (REFUSED)`,
};

function wrongRcode(
  rcode: DnsConfig['rcode'],
  wanted: DnsConfig['rcode'],
  resolver: string,
): CheckFailure {
  const reason = RCODE_WORDS[rcode](resolver);
  return new CheckFailure('dns', wanted === 'NOERROR' ? reason : `${reason}, expected ${wanted}`);
}

function dnsFailure(error: unknown, resolver: string): unknown {
  const code = errorCode(error);
  const say = (reason: string) => new CheckFailure('dns', reason, { cause: error });
  switch (code) {
    case undefined:
      return error;
    case 'ECONNREFUSED':
      return say(`connection refused by ${resolver}`);
    case 'EBADRESP':
      return say(`unreadable answer from ${resolver}`);
    default:
      return say(`the look-up at ${resolver} failed (${code})`);
  }
}
