import { domainToASCII } from 'node:url';
import type { DnsConfig } from '../../contracts/monitoring.ts';

/** A record as text, in the forms an expected value may be written in; the last holds only its name or value. */
export type Forms = string[];

type RecordType = DnsConfig['record_type'];

/** Source: RFC 1035 §3.2.2, RFC 3596 §2.1, RFC 2782, RFC 8659 §4.1. */
const TYPE_NUMBERS: Record<RecordType, number> = {
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
};
const INTERNET = 1;

const HEADER_BYTES = 12;
const RECURSION_DESIRED = 0x0100;
const IS_RESPONSE = 0x8000;
const OPCODE = 0x7800;
const TRUNCATED = 0x0200;
const RCODE = 0x000f;

const MAX_LABEL = 63;
/** With the lengths of its labels. Source: RFC 1035 §2.3.4. */
const MAX_NAME = 255;

/** Text of all records of an answer: pointers can make a megabyte of it out of one message. */
const MAX_TEXT = 128 * 1024;

/** What a resolver answered. */
export interface DnsMessage {
  /** The answer code, such as 3 for NXDOMAIN. Source: RFC 1035 §4.1.1. */
  rcode: number;
  /** It did not fit, and is to be asked for over TCP. */
  truncated: boolean;
  records: Forms[];
}

/** A message of ours or of a resolver that is not as it should be; `code` is as in `node:dns`. */
export class DnsMessageError extends Error {
  override name = 'DnsMessageError' as const;
  readonly code: 'EBADNAME' | 'EBADRESP';

  constructor(code: DnsMessageError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** One question for the records of a name, with recursion. Throws a `DnsMessageError` for a name that can be none. */
export function encodeQuestion(id: number, name: string, type: RecordType): Buffer {
  // Not for every name: `domainToASCII` takes one of figures for an address.
  const ascii = (/^[\w.-]*$/.test(name) ? name : domainToASCII(name)).replace(/\.$/, '');
  if (ascii.length + 2 > MAX_NAME) throw notAName(name);
  const question = Buffer.alloc(HEADER_BYTES + ascii.length + 2 + 4);
  question.writeUInt16BE(id, 0);
  question.writeUInt16BE(RECURSION_DESIRED, 2);
  question.writeUInt16BE(1, 4);
  let at = HEADER_BYTES;
  for (const label of ascii.split('.')) {
    if (label === '' || label.length > MAX_LABEL) throw notAName(name);
    question.writeUInt8(label.length, at);
    at += 1 + question.write(label, at + 1, 'latin1');
  }
  question.writeUInt16BE(TYPE_NUMBERS[type], at + 1);
  question.writeUInt16BE(INTERNET, at + 3);
  return question;
}

const notAName = (name: string) => new DnsMessageError('EBADNAME', `${name} is not a DNS name`);

/** Whether a message answers a question, whatever it says: what does not may be from anyone (RFC 5452 §9.1). */
export function isAnswerTo(message: Buffer, question: Buffer): boolean {
  if (message.length < question.length) return false;
  const flags = message.readUInt16BE(2);
  const isResponse = (flags & (IS_RESPONSE | OPCODE)) === IS_RESPONSE;
  if (!isResponse || message.readUInt16BE(0) !== question.readUInt16BE(0)) return false;
  if (message.readUInt16BE(4) !== 1) return false;
  const asked = question.subarray(HEADER_BYTES);
  const answered = message.subarray(HEADER_BYTES, question.length);
  // Names are the same in any case.
  return answered.equals(asked) || lowered(answered) === lowered(asked);
}

const lowered = (bytes: Buffer) => bytes.toString('latin1').toLowerCase();

/**
 * Reads an answer to a question: its records of the type that was asked for. Throws a `DnsMessageError` when it cannot be
 * read. Whatever a message holds, that takes some milliseconds at most.
 */
export function decodeAnswer(message: Buffer, question: Buffer, type: RecordType): DnsMessage {
  const flags = message.readUInt16BE(2);
  const truncated = (flags & TRUNCATED) !== 0;
  const records = truncated ? [] : recordsIn(message, question.length, type);
  return { rcode: flags & RCODE, truncated, records };
}

function recordsIn(message: Buffer, from: number, type: RecordType): Forms[] {
  const wanted = TYPE_NUMBERS[type];
  const records: Forms[] = [];
  let text = 0;
  try {
    let at = from;
    for (let left = message.readUInt16BE(6); left > 0; left -= 1) {
      const head = endOfName(message, at);
      const start = head + 10;
      const end = start + message.readUInt16BE(head + 8);
      if (end > message.length) throw new RangeError('A record extends past the end.');
      const isWanted = message.readUInt16BE(head) === wanted;
      if (isWanted && message.readUInt16BE(head + 2) === INTERNET) {
        const forms = READERS[type](message, start, end);
        records.push(forms);
        text += forms.at(-1)?.length ?? 0;
        if (text > MAX_TEXT) throw new RangeError('Its records are too long.');
      }
      at = end;
    }
  } catch (cause) {
    // Buffers throw a RangeError beyond their end, and so do the readers.
    if (!(cause instanceof RangeError)) throw cause;
    throw new DnsMessageError('EBADRESP', cause.message);
  }
  // A chain of aliases: the name that was asked for has the first.
  return type === 'CNAME' ? records.slice(0, 1) : records;
}

/** What a record holds, as text. */
type Read = (message: Buffer, start: number, end: number) => Forms;

const nameRecord: Read = (message, start, end) => [nameAt(message, start, end).name];

const READERS: Record<RecordType, Read> = {
  A: (message, start, end) => [exactly(4, message, start, end).join('.')],
  AAAA(message, start, end) {
    const bytes = exactly(16, message, start, end);
    const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16));
    return [groups.join(':')];
  },
  CNAME: nameRecord,
  NS: nameRecord,
  PTR: nameRecord,
  TXT(message, start, end) {
    let text = '';
    for (let at = start; at < end; ) {
      const chunk = sized(message, at, end);
      text += chunk.toString('latin1');
      at += 1 + chunk.length;
    }
    return [text];
  },
  MX(message, start, end) {
    const priority = message.readUInt16BE(start);
    const exchange = nameAt(message, start + 2, end).name;
    return [`${priority} ${exchange}`, exchange];
  },
  SRV(message, start, end) {
    const [priority, weight, port] = [0, 2, 4].map((at) => message.readUInt16BE(start + at));
    const host = nameAt(message, start + 6, end).name;
    return [`${priority} ${weight} ${port} ${host}`, `${host}:${port}`, host];
  },
  SOA(message, start, end) {
    const source = nameAt(message, start, end);
    const mailbox = nameAt(message, source.end, end);
    const serial = message.readUInt32BE(exactlyAt(mailbox.end, 20, end));
    return [`${source.name} ${mailbox.name} ${serial}`, String(serial), source.name];
  },
  CAA(message, start, end) {
    const critical = message.readUInt8(start);
    const tag = sized(message, start + 1, end);
    const property = tag.toString('latin1');
    const value = message.subarray(start + 2 + tag.length, end).toString('latin1');
    return [
      `${critical} ${property} "${value}"`,
      `${critical} ${property} ${value}`,
      `${property} ${value}`,
      value,
    ];
  },
};

function exactly(length: number, message: Buffer, start: number, end: number): Buffer {
  return message.subarray(exactlyAt(start, length, end), end);
}

/** `start`, when what begins there ends so many bytes later. */
function exactlyAt(start: number, length: number, end: number): number {
  if (end - start !== length) throw new RangeError('A record has the wrong length.');
  return start;
}

/** Bytes that stand behind their number. */
function sized(message: Buffer, at: number, end: number): Buffer {
  const next = at + 1 + message.readUInt8(at);
  if (next > end) throw new RangeError('A text extends past its record.');
  return message.subarray(at + 1, next);
}

/** Where a name ends in which nobody is interested. */
function endOfName(message: Buffer, from: number): number {
  for (let at = from; ; ) {
    const length = message.readUInt8(at);
    if (length > MAX_LABEL) return at + 2;
    at += 1 + length;
    if (length === 0) return at;
  }
}

/**
 * A name with its labels, and where it ends. Each pointer leads to an earlier place than the one before, so that none goes
 * in a circle. Source: RFC 1035 §4.1.4.
 */
function nameAt(message: Buffer, start: number, limit: number): { name: string; end: number } {
  const labels: string[] = [];
  let end: number | undefined;
  let before = start;
  let size = 0;
  for (let at = start; ; ) {
    const length = message.readUInt8(at);
    if (length > MAX_LABEL) {
      const to = message.readUInt16BE(at) & 0x3fff;
      if (length < 0xc0 || to >= before) throw new RangeError('A name has an invalid pointer.');
      end ??= at + 2;
      before = to;
      at = to;
      continue;
    }
    size += 1 + length;
    if (size > MAX_NAME) throw new RangeError('A name is too long.');
    const next = at + 1 + length;
    if (length === 0) {
      end ??= next;
      break;
    }
    if (next > message.length) throw new RangeError('A label extends past the end.');
    labels.push(escaped(message.toString('latin1', at + 1, next)));
    at = next;
  }
  if (end > limit) throw new RangeError('A name extends past its record.');
  return { name: labels.join('.'), end };
}

/** As in files of zones, and as `node:dns` gives it. Source: RFC 1035 §5.1. */
function escaped(label: string): string {
  if (/^[\w-]*$/.test(label)) return label;
  return label.replace(/[^ -~]|[".;\\()@$]/g, (character) =>
    /[ -~]/.test(character)
      ? `\\${character}`
      : `\\${String(character.charCodeAt(0)).padStart(3, '0')}`,
  );
}
