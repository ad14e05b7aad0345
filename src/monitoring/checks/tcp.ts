import type { Socket } from 'node:net';
import { type TcpConfig, TcpMonitor } from '../../contracts/monitoring.ts';
import { oneLine } from '../../contracts/one-line.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { expiring } from './certificate.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, errorCode, inKilobytes, inQuotes } from './check-result.ts';
import type { ProbedType } from './check-type.ts';
import { admitServerName, parseHostPort } from './host-port.ts';
import { admitHost } from './target.ts';

const ANSWER_LIMIT_BYTES = 64 * 1024;

/** Bytes of an answer that a reason may quote. */
const SHOWN_BYTES = 240;

/** Sent pieces of so many characters are hidden in quoted answers, because a server may repeat a password. */
const PIECE_CHARACTERS = 4;

const readTarget = (target: string) => parseHostPort(target, 'db.example:5432');

/** TCP: UP if a server accepts the connection, with TLS if configured, and answers the expected text. */
export const tcp: ProbedType<TcpMonitor> = {
  schema: TcpMonitor,
  async admit({ target, config }, tools) {
    for (const name of ['send', 'expect'] as const) {
      try {
        bytesOf(config[name] ?? '');
      } catch (error) {
        throw invalid(`config.${name}`, (error as Error).message);
      }
    }
    if (!config.tls && config.server_name !== undefined) {
      throw invalid('config.server_name', 'needs tls: true; without TLS no server name is sent');
    }
    admitServerName(config.server_name);
    await admitHost(readTarget(target).hostname, tools);
  },
  limitedHost: ({ target }) => readTarget(target).hostname,
  contactedHost: ({ target }) => readTarget(target).hostname,
  async probe({ target, config }, context, { connect }) {
    const { hostname, port } = readTarget(target);
    const protocol = config.tls ? 'https:' : 'http:';
    const { ignore_tls: ignoreTls, server_name: serverName } = config;
    try {
      const socket = await connect({ protocol, hostname, port }, context, {
        ignoreTls,
        serverName,
      });
      try {
        await talk(socket, config, context);
      } finally {
        socket.destroy();
      }
    } catch (error) {
      context.signal.throwIfAborted();
      throw withWords(error, { hostname, port }, context);
    }
  },
  degradation: ({ config }, context) => (config.tls ? expiring(config, context) : undefined),
};

async function talk(socket: Socket, config: TcpConfig, context: CheckContext): Promise<void> {
  const { send, expect } = config;
  if (send !== undefined) await written(socket, bytesOf(send));
  if (expect === undefined) return;
  context.step = 'answer';
  const wanted = bytesOf(expect);
  let answer: Buffer = Buffer.alloc(0);
  const missing = () => `${quoteAnswer(answer, send)}, which does not contain ${inQuotes(expect)}`;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    // The expected bytes may begin at the end of the part that was searched before.
    const from = Math.max(0, answer.length - wanted.length);
    answer = Buffer.concat([answer, chunk]).subarray(0, ANSWER_LIMIT_BYTES);
    if (answer.indexOf(wanted, from) !== -1) return;
    if (answer.length === ANSWER_LIMIT_BYTES) {
      const where = `the first ${inKilobytes(ANSWER_LIMIT_BYTES)} of its answer`;
      throw new CheckFailure(
        'answer',
        `${inQuotes(expect)} is not in ${where}; the rest was not read`,
      );
    }
    context.missing = missing;
  }
  if (answer.length > 0) throw new CheckFailure('answer', missing());
  throw new CheckFailure('answer', `${context.peer} closed the connection without an answer`);
}

const written = (socket: Socket, bytes: Buffer) =>
  new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

/** Rewords a failure of the connection for this check. */
function withWords(
  error: unknown,
  { hostname, port }: { hostname: string; port: string },
  { peer }: CheckContext,
): unknown {
  if (error instanceof CheckFailure) {
    if (errorCode(error.cause) !== 'ECONNREFUSED') return error;
    const reason = `nothing listens on port ${port} of ${hostname}: ${error.message}`;
    return new CheckFailure(error.outcome, reason, { cause: error.cause });
  }
  const code = errorCode(error);
  // An error without a code is a bug of ours, not the target's fault.
  if (code === undefined) return error;
  const say = (reason: string) => new CheckFailure('connection', reason, { cause: error });
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'
    ? say(`${peer} closed the connection before the answer was complete`)
    : say(`the connection to ${peer} failed (${code})`);
}

/** Quotes the answer without the sent text, which may be secret. */
function quoteAnswer(answer: Buffer, send: string | undefined): string {
  const text = oneLine(answer.subarray(0, SHOWN_BYTES).toString('utf8'));
  if (text === '') return `it answered with ${inKilobytes(answer.length)} of binary data`;
  const shown = send === undefined ? text : withoutPieces(text, bytesOf(send).toString('utf8'));
  return `it answered ${inQuotes(shown)}`;
}

/** Replaces every part that also occurs in `sent`, in any case, with `…`. */
function withoutPieces(text: string, sent: string): string {
  const pieces = new Set<string>();
  const known = oneLine(sent).toLowerCase();
  for (let at = 0; at + PIECE_CHARACTERS <= known.length; at += 1) {
    pieces.add(known.slice(at, at + PIECE_CHARACTERS));
  }
  const hidden = new Array<boolean>(text.length).fill(false);
  for (let at = 0; at + PIECE_CHARACTERS <= text.length; at += 1) {
    const piece = text.slice(at, at + PIECE_CHARACTERS).toLowerCase();
    if (pieces.has(piece)) hidden.fill(true, at, at + PIECE_CHARACTERS);
  }
  let shown = '';
  for (const [at, isHidden] of hidden.entries()) {
    if (!isHidden) shown += text[at];
    else if (!hidden[at - 1]) shown += '…';
  }
  return shown;
}

const ESCAPES: Readonly<Record<string, string>> = { r: '\r', n: '\n', t: '\t', '\\': '\\' };

/** The bytes of a text with the escapes that people write, such as `PING\r\n`; throws a sentence for any other. */
function bytesOf(text: string): Buffer {
  if (!text.includes('\\')) return Buffer.from(text);
  const parts = text.split(/(\\(?:x[\da-f]{2}|[\s\S]|$))/i);
  return Buffer.concat(
    parts.map((part, at) => {
      if (at % 2 === 0) return Buffer.from(part);
      if (part.length === 4) return Buffer.from(part.slice(2), 'hex');
      const byte = ESCAPES[part.slice(1)];
      if (byte !== undefined) return Buffer.from(byte);
      throw new Error(
        `use only the escapes \\r, \\n, \\t, \\\\ and \\x00 to \\xff; write \\\\ for a backslash`,
      );
    }),
  );
}
