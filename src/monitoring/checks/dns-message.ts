import { domainToASCII } from 'node:url';
import { type Answer, decode, encode, RECURSION_DESIRED, TRUNCATED_RESPONSE } from 'dns-packet';
import type { DnsConfig } from '../../contracts/monitoring.ts';

/** A record as text, in the forms an expected value may be written in; the last one holds only its name or value. */
export type RecordForms = string[];

export interface DnsQuestion {
  id: number;
  /** In ASCII, without the last dot. */
  name: string;
  type: DnsConfig['record_type'];
}

export interface DnsMessage {
  /** The answer code, such as 3 for NXDOMAIN. Source: RFC 1035 §4.1.1. */
  rcode: number;
  /** The answer did not fit; ask again over TCP. */
  truncated: boolean;
  records: RecordForms[];
}

const HEADER_BYTES = 12;
/** Names compressed by pointers unfold: reading 64 KB of them takes some 100 ms of CPU time. */
const MAX_ANSWER_BYTES = 32 * 1024;
const IS_RESPONSE = 0x8000;
const RCODE = 0x000f;

/** A name as questions hold it. A name of digits is left alone, because `domainToASCII` reads it as an address. */
export const nameInQuestion = (name: string) =>
  (/^[\w.-]*$/.test(name) ? name : domainToASCII(name)).replace(/\.$/, '');

/** A question that asks the resolver to ask others (recursion). */
export const encodeQuestion = ({ id, name, type }: DnsQuestion): Buffer =>
  encode({ type: 'query', id, flags: RECURSION_DESIRED, questions: [{ name, type }] });

/**
 * Reads the answer to a question: its records of the type in question. A message that answers another question gives `undefined`,
 * because anyone may have sent it (RFC 5452 §9.1). Throws an error with the code `EBADRESP` if it can't be read.
 */
export function readAnswer(message: Buffer, question: DnsQuestion): DnsMessage | undefined {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== question.id) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & IS_RESPONSE) === 0) return undefined;
  const rcode = flags & RCODE;
  // A cut message may end anywhere.
  if ((flags & TRUNCATED_RESPONSE) !== 0) return { rcode, truncated: true, records: [] };
  const { questions = [], answers = [] } = decodeMessage(message);
  const [answered] = questions;
  const isSame =
    answered?.type === question.type && answered.name.toLowerCase() === question.name.toLowerCase();
  if (!isSame || questions.length > 1) return undefined;
  const records = answers.filter(
    (answer) => answer.type === question.type && 'class' in answer && answer.class === 'IN',
  );
  // In a chain of aliases the first one belongs to the name in question.
  const wanted = question.type === 'CNAME' ? records.slice(0, 1) : records;
  return { rcode, truncated: false, records: wanted.map(formsOf) };
}

function decodeMessage(message: Buffer) {
  try {
    if (message.length > MAX_ANSWER_BYTES) throw new RangeError('The answer is too long.');
    return decode(message);
  } catch (cause) {
    throw Object.assign(new Error('The answer cannot be read.', { cause }), { code: 'EBADRESP' });
  }
}

function formsOf(answer: Answer): RecordForms {
  switch (answer.type) {
    case 'TXT':
      return [Buffer.concat([answer.data].flat() as Buffer[]).toString('latin1')];
    case 'MX': {
      const { preference, exchange } = answer.data;
      return [`${preference} ${exchange}`, exchange];
    }
    case 'SRV': {
      const { priority, weight, port, target } = answer.data;
      return [`${priority} ${weight} ${port} ${target}`, `${target}:${port}`, target];
    }
    case 'SOA': {
      const { mname, rname, serial } = answer.data;
      return [`${mname} ${rname} ${serial}`, String(serial), mname];
    }
    case 'CAA': {
      const { flags, tag, value } = answer.data;
      const property = `${tag} ${value}`;
      return [`${flags} ${tag} "${value}"`, `${flags} ${property}`, property, value];
    }
    default:
      return ['data' in answer ? String(answer.data) : ''];
  }
}
