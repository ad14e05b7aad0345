import { domainToASCII } from 'node:url';
import { ErrorCode } from '../../contracts/error.ts';
import type { DnsConfig, HeartbeatConfig, MonitorCreate } from '../../contracts/monitoring.ts';
import { holdsUnseen } from '../../contracts/one-line.ts';
import { HttpError, invalidValue as invalid } from '../../http/errors.ts';
import { timeoutSeconds } from '../checks/check.ts';
import { unlessAborted } from '../checks/connect.ts';
import { parseResolver } from '../checks/dns-query.ts';
import { parseExpectedStatus } from '../checks/expected-status.ts';
import type { NameLookup } from '../checks/name-lookup.ts';
import { headerProblem } from '../checks/request-headers.ts';
import { literalAddress, type SsrfGuard } from '../checks/ssrf-guard.ts';
import { checkHeartbeatConfig } from '../monitors/heartbeat.ts';

/** How long a create waits for the name of its target; a name that takes longer is accepted and checked later. */
const LOOKUP_MS = 2_000;

/** Longest word for a heartbeat's job. */
const MAX_JOB_WORD = 200;

/** Longest host name. Source: RFC 1035 §2.3.4. */
const MAX_HOST_NAME = 253;

/** Decides whether a monitor may be made; throws the 400 that names the field and says what to do. */
export type Admit = (monitor: MonitorCreate) => Promise<void>;

/** What the schema cannot see: what a target means, what settings mean together, and where a target leads. */
export function createAdmission(tools: { guard: SsrfGuard; lookup: NameLookup }): Admit {
  const { guard, lookup } = tools;

  async function admitUrl(target: string) {
    const { hostname } = parseWebTarget(target);
    const literal = literalAddress(hostname);
    const addresses = literal ? [literal] : await lookUpBriefly(lookup, hostname);
    if (addresses.length > 0 && !addresses.some((address) => guard.allows(address))) {
      throw targetNotAllowed('target');
    }
  }

  return async (monitor) => {
    switch (monitor.check_type) {
      case 'HTTP':
      case 'KEYWORD':
        checkTimeout(monitor.config);
        checkWebConfig(monitor);
        return await admitUrl(monitor.target);
      case 'DNS':
        checkTimeout(monitor.config);
        checkHostName(monitor.target, monitor.config.record_type);
        checkAnswer(monitor.config);
        return admitResolver(monitor.config.resolver, guard);
      case 'HEARTBEAT':
        checkJobTimes(monitor.config);
        return checkJobWord(monitor.target);
    }
  };
}

/** A web target as a URL, or the 400 that says how to write one. */
function parseWebTarget(target: string): URL {
  if (/[\s\p{Cc}]/u.test(target)) throw invalid('target', 'a URL holds no spaces; write %20');
  if (holdsUnseen(target)) throw unseenInTarget();
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid('target', 'write a whole URL with http or https, such as https://example.com');
  }
  if (!/^https?:\/\//i.test(target)) {
    throw invalid('target', 'write // after the scheme, such as https://example.com');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('target', 'leave out the user name and password; a target is shown in lists');
  }
  if (url.port === '0') throw invalid('target', 'there is no port 0');
  if (literalAddress(url.hostname) === undefined && !isHostName(url.hostname)) {
    throw invalid('target', 'its host is not a name that can exist');
  }
  return url;
}

function checkWebConfig({
  check_type,
  config,
}: Extract<MonitorCreate, { check_type: 'HTTP' | 'KEYWORD' }>) {
  try {
    parseExpectedStatus(config.expected_status);
  } catch (error) {
    throw invalid('config.expected_status', (error as Error).message);
  }
  if (check_type === 'KEYWORD' && config.method === 'HEAD') {
    throw invalid('config.method', 'an answer to HEAD has no text to look in; take GET');
  }
  if (config.body !== undefined && (config.method === 'GET' || config.method === 'HEAD')) {
    throw invalid('config.body', `a ${config.method} carries none; take POST or leave it out`);
  }
  for (const [name, value] of Object.entries(config.headers)) {
    const problem = headerProblem(name, value, config.headers);
    if (problem !== undefined) throw invalid(`config.headers.${name}`, problem);
  }
}

function checkAnswer({ rcode, expected, match }: DnsConfig): void {
  if (rcode !== 'NOERROR' && expected.length > 0) {
    throw invalid('config.expected', `an answer of ${rcode} holds no values; leave it out`);
  }
  if (match === 'exact' && expected.length === 0) {
    throw invalid('config.expected', 'write the values that are to be there, or leave out match');
  }
}

function checkTimeout(config: Exclude<MonitorCreate, { check_type: 'HEARTBEAT' }>['config']): void {
  const seconds = timeoutSeconds(config);
  if (seconds >= config.interval_seconds) {
    throw invalid(
      'config.timeout_seconds',
      `it must be less than interval_seconds, which is ${config.interval_seconds}`,
    );
  }
  if (config.degraded_after_ms !== undefined && config.degraded_after_ms >= seconds * 1000) {
    throw invalid('config.degraded_after_ms', `it must be less than the timeout, ${seconds} s`);
  }
}

function checkHostName(target: string, recordType: string): void {
  if (target.includes('/') || target.includes('@')) {
    const host = URL.canParse(target) ? new URL(target).hostname : '';
    const example = isHostName(host) ? host : 'example.com';
    throw invalid('target', `a DNS check takes only the name, such as ${example}`);
  }
  if (literalAddress(target) !== undefined) {
    if (recordType === 'PTR') return;
    throw invalid('target', 'a DNS check takes a name; an address can only be asked for its PTR');
  }
  if (!isHostName(domainToASCII(target) || target)) {
    throw invalid('target', 'a DNS check takes a name, such as example.com');
  }
}

function admitResolver(resolver: string | undefined, guard: SsrfGuard): void {
  if (resolver === undefined) return;
  const parsed = parseResolver(resolver);
  if (parsed === undefined) {
    throw invalid(
      'config.resolver',
      'write an address and, if you like, a port, such as 9.9.9.9 or 9.9.9.9:53',
    );
  }
  if (!guard.allows(parsed.address)) throw targetNotAllowed('config.resolver');
}

function checkJobTimes(config: HeartbeatConfig): void {
  const wrong = checkHeartbeatConfig(config);
  if (wrong) throw invalid(wrong.param, wrong.message);
}

function checkJobWord(target: string): void {
  if (target.length > MAX_JOB_WORD) {
    throw invalid('target', `a word for the job has at most ${MAX_JOB_WORD} characters`);
  }
  if (/\p{Cc}/u.test(target) || holdsUnseen(target)) throw unseenInTarget();
}

/** It could look like another target. */
const unseenInTarget = () =>
  invalid('target', 'leave out line breaks, control characters and what cannot be seen');

/** Labels of 1 to 63 letters, digits, hyphens and (as in `_sip._tcp`) underscores. Source: RFC 1035 §2.3, RFC 2782. */
function isHostName(name: string): boolean {
  const bare = name.replace(/\.$/, '');
  return (
    bare.length <= MAX_HOST_NAME && bare.split('.').every((label) => /^[\w-]{1,63}$/.test(label))
  );
}

/** The addresses of a name, or none when it does not resolve in time: it may come to exist later. */
async function lookUpBriefly(lookup: NameLookup, hostname: string): Promise<string[]> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), LOOKUP_MS);
  try {
    return await unlessAborted(lookup(hostname), deadline.signal);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/** Says what to set, and never which address a name has: that would map a private network for strangers. */
const targetNotAllowed = (param: string) =>
  new HttpError(
    400,
    ErrorCode.targetNotAllowed,
    `The '${param}' leads to a private or reserved address, which checks may not reach. To allow it, whoever runs ` +
      'Askwatch sets MONITOR_ALLOW_PRIVATE to its network, for example MONITOR_ALLOW_PRIVATE=192.168.0.0/16 ' +
      '(127.0.0.0/8 for the machine itself; several are separated by commas), and restarts it.',
    { param },
  );
