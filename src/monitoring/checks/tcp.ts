import type { Socket } from 'node:net';
import { type TcpConfig, TcpMonitor } from '../../contracts/monitoring.ts';
import { oneLine } from '../../contracts/one-line.ts';
import { invalidValue as invalid } from '../../http/errors.ts';
import { expiring } from './certificate.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, errorCode, inKilobytes, inQuotes } from './check-result.ts';
import type { ProbedType } from './check-type.ts';
import { admitServerName, hostPortReader } from './host-port.ts';
import { admitHost } from './target.ts';

/** How much of an answer is looked through. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/** How much of an answer is looked at for what a reason shows. */
const SHOWN_BYTES = 240;

/** Pieces of so many characters that were sent are not shown in what comes back: a server may repeat a password. */
const PIECE_CHARACTERS = 4;

const readTarget = hostPortReader('db.example:5432');

/** TCP: UP when something accepts the connection, over TLS if asked for, and answers what it is to answer. */
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

/** Sends what is to be sent and reads until what is expected is there. */
async function talk(socket: Socket, config: TcpConfig, context: CheckContext): Promise<void> {
  const { send, expect } = config;
  if (send !== undefined) await written(socket, bytesOf(send));
  if (expect === undefined) return;
  context.step = 'answer';
  const wanted = bytesOf(expect);
  const append = createAppender();
  let heard: Buffer = Buffer.alloc(0);
  const missing = () => `${said(heard, send)}, which does not contain ${inQuotes(expect)}`;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    // What was looked through is not looked through again, but for where it may go on.
    const from = Math.max(0, heard.length - wanted.length);
    heard = append(chunk);
    if (heard.indexOf(wanted, from) !== -1) return;
    if (heard.length === ANSWER_LIMIT_BYTES) {
      const where = `the first ${inKilobytes(ANSWER_LIMIT_BYTES)} of its answer`;
      throw new CheckFailure(
        'answer',
        `${inQuotes(expect)} is not in ${where}; the rest was not read`,
      );
    }
    context.missing = missing;
  }
  if (heard.length > 0) throw new CheckFailure('answer', missing());
  throw new CheckFailure('answer', `${context.peer} closed the connection without an answer`);
}

/** Puts pieces together, up to the limit; gives all there is. Most answers are one piece, and many small ones are copied once. */
function createAppender(): (piece: Buffer) => Buffer {
  let all: Buffer | undefined;
  let length = 0;
  return (piece) => {
    if (length === 0) {
      length = Math.min(piece.length, ANSWER_LIMIT_BYTES);
      all = piece;
    } else {
      const before = all as Buffer;
      if (before.length < ANSWER_LIMIT_BYTES) {
        all = Buffer.allocUnsafe(ANSWER_LIMIT_BYTES);
        before.copy(all, 0, 0, length);
      }
      length += piece.copy(all as Buffer, length);
    }
    return (all as Buffer).subarray(0, length);
  };
}

const written = (socket: Socket, bytes: Buffer) =>
  new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

/** Puts a failure of the connection into the words of this check. */
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
  // One without a code is a fault of ours, not of the target.
  if (code === undefined) return error;
  const say = (reason: string) => new CheckFailure('connection', reason, { cause: error });
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'
    ? say(`${peer} closed the connection before the answer was complete`)
    : say(`the connection to ${peer} failed (${code})`);
}

/** What was said, without what was sent: that may be a secret. */
function said(heard: Buffer, send: string | undefined): string {
  const text = oneLine(heard.subarray(0, SHOWN_BYTES).toString('utf8'));
  if (text === '') return `it answered with ${inKilobytes(heard.length)} of binary data`;
  const shown = send === undefined ? text : withoutPieces(text, bytesOf(send).toString('utf8'));
  return `it answered ${inQuotes(shown)}`;
}

/** The text with `…` for every part that stands in `sent`, too, in whatever case. */
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
