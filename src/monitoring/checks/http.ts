import type { IncomingMessage } from 'node:http';
import type { HttpConfig } from '../../contracts/monitoring.ts';
import { drain } from './body-reader.ts';
import type { CheckContext } from './check-context.ts';
import type { Connect } from './connect.ts';
import { parseExpectedStatus, statusInWords } from './expected-status.ts';
import { CheckFailure } from './failure.ts';
import { visit } from './http-visit.ts';

/** What web checks need besides their monitor. */
export interface WebCheckTools {
  connect: Connect;
  /** Fixed, so that owners of targets can tell who asks; settings may give another. */
  userAgent: string;
}

/** Passes when the page answers whole and with an expected status; else throws a `CheckFailure`. */
export async function checkHttp(
  tools: WebCheckTools,
  monitor: { target: string; config: HttpConfig },
  context: CheckContext,
): Promise<void> {
  await visitPage(tools, monitor, context, drain);
}

/** Asks for the page as its settings say and reads the answer if its status is an expected one. */
export function visitPage<T>(
  { connect, userAgent }: WebCheckTools,
  { target, config }: { target: string; config: HttpConfig },
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
