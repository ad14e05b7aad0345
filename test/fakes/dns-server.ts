import dgram from 'node:dgram';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  CAA: 257,
} as const;
export type RecordType = keyof typeof TYPES;

const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;

/** Records of the type that was asked for, each as its words; or what goes wrong. */
export type DnsAnswer =
  | string[][]
  | Exclude<keyof typeof RCODES, 'NOERROR'>
  | 'silence'
  | 'garbage';

/** A DNS server over UDP and TCP on 127.0.0.1; it goes away with the running test. Source of the format: RFC 1035 §4. */
export interface DnsServer {
  /** `127.0.0.1:port`. */
  address: string;
  questions: Array<{ name: string; type: string }>;
  /** Number of questions over TCP. */
  overTcp(): number;
}

/**
 * Starts a server that answers as told, `delayMs` late. With `truncates`, answers over UDP are empty and marked as cut
 * short, so that the asker comes back over TCP; with `only: 'udp'` nothing listens there. Call inside a test.
 */
export async function startDnsServer(
  answerTo: (question: { name: string; type: RecordType }) => DnsAnswer,
  options: { truncates?: boolean; only?: 'udp'; delayMs?: () => number } = {},
): Promise<DnsServer> {
  const socket = dgram.createSocket('udp4');
  const questions: DnsServer['questions'] = [];
  const sockets = new Set<net.Socket>();
  const late: NodeJS.Timeout[] = [];
  let overTcp = 0;

  function replyTo(query: Buffer): Buffer | undefined {
    const { name, type, end } = readQuestion(query);
    questions.push({ name, type: type ?? 'unknown' });
    const answer = type ? answerTo({ name, type }) : 'REFUSED';
    if (answer === 'silence') return undefined;
    return answer === 'garbage'
      ? Buffer.concat([query.subarray(0, 2), Buffer.from('this is no DNS message')])
      : answerPacket(query.subarray(0, end), type ?? 'A', answer);
  }

  socket.on('message', (query, from) => {
    const reply = options.truncates ? cutShort(query) : replyTo(query);
    if (reply === undefined) return;
    const send = () => socket.send(reply, from.port, from.address);
    const delayMs = options.delayMs?.() ?? 0;
    if (delayMs === 0) send();
    else late.push(setTimeout(send, delayMs));
  });
  const server = net.createServer((connection) => {
    sockets.add(connection);
    connection.on('error', () => {});
    connection.on('close', () => sockets.delete(connection));
    // RFC 1035 §4.2.2: two bytes of length first. Questions are small: one comes in one piece.
    connection.on('data', (bytes) => {
      overTcp += 1;
      const reply = replyTo(bytes.subarray(2));
      if (reply) connection.write(Buffer.concat([uint16(String(reply.length)), reply]));
    });
  });
  const port = await listenOnBoth(server, socket);
  const closeTcp = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const connection of sockets) connection.destroy();
    await closed;
  };
  if (options.only === 'udp') await closeTcp();
  onTestFinished(async () => {
    for (const timer of late) clearTimeout(timer);
    await closeTcp();
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  });
  return { address: `127.0.0.1:${port}`, questions, overTcp: () => overTcp };
}

/** Finds a port that is free for both; another process may have the first one for UDP. */
async function listenOnBoth(server: net.Server, socket: dgram.Socket): Promise<number> {
  for (;;) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const bound = once(socket, 'listening');
    socket.bind(port, '127.0.0.1');
    try {
      await bound;
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
    await new Promise((resolve) => server.close(resolve));
  }
}

/** An answer without records that says there are more than fit. Source: RFC 1035 §4.1.1, TC. */
function cutShort(query: Buffer): Buffer {
  const { end } = readQuestion(query);
  const reply = answerPacket(query.subarray(0, end), 'A', []);
  reply.writeUInt16BE(reply.readUInt16BE(2) | 0x0200, 2);
  return reply;
}

function readQuestion(query: Buffer): { name: string; type: RecordType | undefined; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += length + 1;
  }
  const code = query.readUInt16BE(at + 1);
  const type = (Object.keys(TYPES) as RecordType[]).find((key) => TYPES[key] === code);
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

function answerPacket(
  question: Buffer,
  type: RecordType,
  answer: string[][] | Exclude<keyof typeof RCODES, 'NOERROR'>,
): Buffer {
  const records = typeof answer === 'string' ? [] : answer;
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(0x8180 | RCODES[typeof answer === 'string' ? answer : 'NOERROR'], 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  const answers = records.map((words) => {
    const data = recordData(type, words);
    const head = Buffer.alloc(12);
    head.writeUInt16BE(0xc00c, 0); // the name of the question
    head.writeUInt16BE(TYPES[type], 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt32BE(60, 6);
    head.writeUInt16BE(data.length, 10);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([header, question.subarray(12), ...answers]);
}

function recordData(type: RecordType, words: string[]): Buffer {
  const [a = '', b = '', c = '', d = ''] = words;
  switch (type) {
    case 'A':
      return Buffer.from(a.split('.').map(Number));
    case 'AAAA':
      return ipv6(a);
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return domain(a);
    case 'MX':
      return Buffer.concat([uint16(a), domain(b)]);
    case 'TXT':
      return Buffer.concat(words.map(text));
    case 'SRV':
      return Buffer.concat([uint16(a), uint16(b), uint16(c), domain(d)]);
    case 'SOA': {
      const numbers = Buffer.alloc(20);
      numbers.writeUInt32BE(Number(c), 0);
      return Buffer.concat([domain(a), domain(b), numbers]);
    }
    case 'CAA':
      return Buffer.concat([Buffer.from([Number(a)]), text(b), Buffer.from(c)]);
  }
}

function domain(name: string): Buffer {
  return Buffer.concat([...name.split('.').map(text), Buffer.from([0])]);
}

function text(words: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(words)]), Buffer.from(words)]);
}

function uint16(number: string): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(Number(number));
  return bytes;
}

function ipv6(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const left = groups(head);
  const right = groups(tail);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return Buffer.concat(
    [...left, ...zeros, ...right].map((group) => uint16(String(Number.parseInt(group, 16)))),
  );
}
