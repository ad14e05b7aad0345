import type { IncomingMessage } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { type HttpConfig, HttpMonitor } from '../../contracts/monitoring.ts';
import { holdsUnseen } from '../../contracts/one-line.ts';
import { literalAddress } from '../../http/address.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { drain, readPageText } from './body-reader.ts';
import { expiring } from './certificate.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure } from './check-result.ts';
import type { AdmissionTools, CheckedMonitor, ProbedType, ProbeTools } from './check-type.ts';
import { visit } from './http-visit.ts';
import { judgeJson, parseJsonCondition } from './json-value.ts';
import { admitHost, isHostName, unseenInTarget } from './target.ts';

/** Headers that belong to the connection, and `host`, which belongs to the target. Source: RFC 9110 §7.6.1, RFC 9112. */
const NOT_FOR_SETTINGS = new Set([
  'host',
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

interface PageMonitor extends CheckedMonitor {
  config: HttpConfig;
}

/** Shared by all types of check that request a web page. */
export const ofPages = {
  async admit({ target, config }: PageMonitor, tools: AdmissionTools): Promise<void> {
    admitRequest(config);
    await admitHost(parseTarget(target).hostname, tools);
  },
  limitedHost: ({ target }: PageMonitor) => new URL(target).hostname,
  contactedHost: ({ target }: PageMonitor) => new URL(target).hostname,
  degradation: ({ config }: PageMonitor, context: CheckContext) => expiring(config, context),
};

/** HTTP: UP if a page answers completely, with an expected status, and with the expected value in its JSON. */
export const http: ProbedType<HttpMonitor> = {
  ...ofPages,
  schema: HttpMonitor,
  async admit(monitor, tools) {
    const { json, method } = monitor.config;
    if (json !== undefined) admitJson(json, method);
    await ofPages.admit(monitor, tools);
  },
  async probe(monitor, context, tools) {
    const { json } = monitor.config;
    if (json === undefined) return await visitPage(tools, monitor, context, drain);
    judgeJson(json, await visitPage(tools, monitor, context, readPageText));
  },
};

function admitJson(json: string, method: HttpConfig['method']): void {
  if (method === 'HEAD') {
    throw invalid('config.json', 'an answer to HEAD has no body; use GET');
  }
  try {
    parseJsonCondition(json);
  } catch (error) {
    throw invalid('config.json', (error as Error).message);
  }
}

/** Requests the page and reads the answer if its status is expected. */
export function visitPage<T>(
  { connect, userAgent }: ProbeTools,
  { target, config }: PageMonitor,
  context: CheckContext,
  read: (answer: IncomingMessage) => Promise<T>,
): Promise<T> {
  const isWanted = parseExpectedStatus(config.expected_status);
  const request = {
    url: new URL(target),
    method: config.method,
    headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'gzip, deflate, br' },
    ownHeaders: config.headers,
    body: config.body,
    isWanted,
    maxRedirects: config.follow_redirects ? config.max_redirects : undefined,
    ignoreTls: config.ignore_tls,
  };
  return visit(connect, request, context, (answer, status) => {
    if (isWanted(status)) return read(answer);
    throw new CheckFailure(
      'status',
      `answered ${statusInWords(status)}, expected ${config.expected_status}`,
    );
  });
}

/** Reads a web target, or throws a 400 that says how to write one. */
function parseTarget(target: string): URL {
  if (/[\s\p{Cc}]/u.test(target)) throw invalid('target', "a URL can't contain spaces; use %20");
  if (holdsUnseen(target)) throw unseenInTarget();
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid('target', 'must be a full http or https URL, such as https://example.com');
  }
  if (!/^https?:\/\//i.test(target)) {
    throw invalid('target', 'add // after the scheme, such as https://example.com');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('target', 'leave out the user name and password; targets are shown in lists');
  }
  if (url.port === '0') throw invalid('target', 'the port must not be 0');
  if (literalAddress(url.hostname) === undefined && !isHostName(url.hostname)) {
    throw invalid('target', 'the host is not a valid name');
  }
  return url;
}

function admitRequest(config: HttpConfig): void {
  try {
    parseExpectedStatus(config.expected_status);
  } catch (error) {
    throw invalid('config.expected_status', (error as Error).message);
  }
  if (config.body !== undefined && (config.method === 'GET' || config.method === 'HEAD')) {
    throw invalid(
      'config.body',
      `a ${config.method} request has no body; use POST or leave this out`,
    );
  }
  for (const [name, value] of Object.entries(config.headers)) {
    const problem = headerProblem(name, value, config.headers);
    if (problem !== undefined) throw invalid(`config.headers.${name}`, problem);
  }
}

function headerProblem(
  name: string,
  value: string,
  all: HttpConfig['headers'],
): string | undefined {
  const key = name.toLowerCase();
  if (key === 'host') return 'leave it out; the check takes the host from the target';
  if (NOT_FOR_SETTINGS.has(key) || key.startsWith('proxy-')) {
    return 'leave it out; the check sets it itself';
  }
  // A line break would begin another header.
  if (!/^[\x20-\x7e\xa0-\xff]*$/.test(value)) {
    return 'must not contain line breaks, control characters or characters outside Latin-1';
  }
  const twin = Object.keys(all).find((other) => other !== name && other.toLowerCase() === key);
  if (twin !== undefined) return `is listed twice, also as ${twin}`;
  return undefined;
}

/** Reads `200-299,401`; throws with a sentence when a code is not one or a range runs backwards. */
function parseExpectedStatus(text: string): (status: number) => boolean {
  const ranges = text.split(',').map((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    if (from < 100 || to > 599) throw new Error('codes range from 100 to 599');
    if (from > to) throw new Error(`the range ${part} is backwards`);
    return { from, to };
  });
  return (status) => ranges.some(({ from, to }) => from <= status && status <= to);
}

/** A status as people read it, such as `503 Service Unavailable`. */
function statusInWords(status: number): string {
  const words = STATUS_CODES[status];
  return words ? `${status} ${words}` : String(status);
}
