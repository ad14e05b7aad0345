import type { IncomingMessage } from 'node:http';
import type { HttpConfig } from '../contracts/monitoring.ts';
import type { Connect } from './connect.ts';
import { parseExpectedStatus, statusInWords } from './expected-status.ts';
import { CheckFailure } from './failure.ts';
import { visit } from './http-visit.ts';
import { drain } from './page-text.ts';

/** What web checks need besides their monitor. */
export interface WebCheckTools {
  connect: Connect;
  /** Fixed, so that owners of targets can tell who asks. */
  userAgent: string;
}

/** Passes when the page answers whole and with an expected status; else throws a `CheckFailure`. */
export async function checkHttp(
  tools: WebCheckTools,
  { target, config }: { target: string; config: HttpConfig },
  signal: AbortSignal,
): Promise<void> {
  await visitPage(tools, { target, config }, signal, drain);
}

/** Asks for the page as its settings say and reads the answer if its status is an expected one. */
export async function visitPage<T>(
  { connect, userAgent }: WebCheckTools,
  { target, config }: { target: string; config: HttpConfig },
  signal: AbortSignal,
  read: (answer: IncomingMessage) => Promise<T>,
): Promise<T> {
  const isWanted = parseExpectedStatus(config.expected_status);
  const headers = {
    'user-agent': userAgent,
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br',
  };
  const request = { url: new URL(target), method: config.method, headers, isWanted };
  return await visit(connect, request, signal, async (answer, status) => {
    if (!isWanted(status)) {
      throw new CheckFailure(
        'status',
        `answered ${statusInWords(status)}, expected ${config.expected_status}`,
      );
    }
    return await read(answer);
  });
}
