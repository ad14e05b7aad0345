import type { Socket } from 'node:net';
import type { CertificateConfig } from '../../contracts/monitoring.ts';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, inQuotes } from './check-result.ts';

/** Limit of a server's text before TLS; greetings have some hundred bytes. */
const LIMIT_BYTES = 16 * 1024;

type StartTlsProtocol = Exclude<CertificateConfig['starttls'], 'none'>;

interface Talk {
  say(bytes: string | Buffer): void;
  /** The next line, without its end. */
  line(): Promise<string>;
  /** The next byte, as a character. */
  byte(): Promise<string>;
}

const DIALOGUES: Record<StartTlsProtocol, (talk: Talk) => Promise<void>> = { smtp, imap, postgres };

/**
 * Agrees with a server to begin TLS on this connection. Throws a `CheckFailure` if the server refuses, or sends more plain text after
 * it agreed: that text would pass for text over TLS (CVE-2011-0411, CVE-2021-23222).
 */
export async function startTls(
  protocol: StartTlsProtocol,
  socket: Socket,
  { peer }: CheckContext,
): Promise<void> {
  let received: Buffer = Buffer.alloc(0);
  let total = 0;
  let failure: CheckFailure | undefined;
  let wake = () => {};
  const fail = (outcome: 'protocol' | 'connection', reason: string) => {
    failure ??= new CheckFailure(outcome, reason);
    wake();
  };
  const onData = (bytes: Buffer) => {
    total += bytes.length;
    if (total > LIMIT_BYTES) {
      socket.pause();
      fail('protocol', `${peer} keeps sending text and does not start TLS`);
      return;
    }
    received = Buffer.concat([received, bytes]);
    wake();
  };
  const onClose = () => fail('connection', `${peer} closed the connection before TLS began`);
  socket.on('data', onData);
  for (const name of ['end', 'close']) socket.once(name, onClose);

  /** Takes the first received bytes, as soon as `lengthOf` knows how many. */
  async function take(lengthOf: () => number): Promise<string> {
    for (;;) {
      const length = lengthOf();
      if (length > 0) {
        const taken = received.subarray(0, length).toString('latin1');
        received = received.subarray(length);
        return taken;
      }
      if (failure) throw failure;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  await DIALOGUES[protocol]({
    say: (bytes) => void socket.write(bytes),
    line: async () => (await take(() => received.indexOf('\n') + 1)).replace(/\r?\n$/, ''),
    byte: () => take(() => Math.min(received.length, 1)),
  });
  if (failure) throw failure;
  if (received.length > 0) {
    throw new CheckFailure('protocol', `${peer} sent more plain text after it agreed to TLS`);
  }
  // TLS reads the socket from now on.
  socket.off('data', onData);
  for (const name of ['end', 'close']) socket.off(name, onClose);
  socket.pause();
}

/** Source: RFC 3207, RFC 5321 §4.2. */
async function smtp({ say, line }: Talk): Promise<void> {
  /** The lines of a reply; throws if it has another code. */
  async function reply(code: string, to: string): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const text = await line();
      if (!/^\d{3}([ -]|$)/.test(text)) throw unlike('SMTP', text);
      if (!text.startsWith(code)) throw refused(text, to);
      lines.push(text.slice(4));
      if (text[3] !== '-') return lines;
    }
  }
  await reply('220', 'the connection');
  say('EHLO askwatch\r\n');
  const offers = await reply('250', 'EHLO');
  if (!offers.some((offer) => /^STARTTLS\s*$/i.test(offer))) {
    throw new CheckFailure('protocol', 'it does not offer STARTTLS');
  }
  say('STARTTLS\r\n');
  await reply('220', 'STARTTLS');
}

/** Source: RFC 9051 §6.2.1, §7.1. */
async function imap({ say, line }: Talk): Promise<void> {
  const greeting = await line();
  if (!/^\* (OK|PREAUTH|BYE)\b/i.test(greeting)) throw unlike('IMAP', greeting);
  if (!/^\* OK\b/i.test(greeting)) throw refused(greeting, 'the connection');
  say('a1 STARTTLS\r\n');
  for (;;) {
    const text = await line();
    if (/^a1 OK\b/i.test(text)) return;
    if (/^a1 /i.test(text)) throw refused(text.slice(3), 'STARTTLS');
    if (!text.startsWith('* ')) throw unlike('IMAP', text);
  }
}

/** Source: PostgreSQL docs, "Message Formats" (SSLRequest) and "SSL Session Encryption". */
async function postgres({ say, byte }: Talk): Promise<void> {
  say(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
  const answer = await byte();
  if (answer === 'S') return;
  if (answer === 'N') throw new CheckFailure('protocol', 'it does not offer TLS');
  throw new CheckFailure('protocol', 'it does not answer like PostgreSQL');
}

const unlike = (what: string, text: string) =>
  new CheckFailure('protocol', `it does not speak ${what}: it said ${inQuotes(text)}`);

const refused = (text: string, to: string) =>
  new CheckFailure('protocol', `it answered ${inQuotes(text)} to ${to}`);
