import { expect, test } from 'vitest';
import {
  type DnsQuestion,
  encodeQuestion,
  nameInQuestion,
  readAnswer,
} from '../../../src/monitoring/checks/dns-message.ts';

type Type = DnsQuestion['type'];

const TO_QUESTION = Buffer.from([0xc0, 12]);
const uint16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const questionFor = (type: Type): DnsQuestion => ({ id: 7, name: 'a.example', type });

/** A name on the wire. */
const name = (...labels: string[]) =>
  Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]),
    Buffer.from([0]),
  ]);

interface RawRecord {
  type: number;
  class?: number;
  data: Buffer;
}

function answerTo(question: DnsQuestion, records: RawRecord[]): Buffer {
  const bytes = encodeQuestion(question);
  bytes.writeUInt16BE(0x8180, 2);
  bytes.writeUInt16BE(records.length, 6);
  const bodies = records.map(({ type, class: of = 1, data }) =>
    Buffer.concat([
      TO_QUESTION,
      uint16(type),
      uint16(of),
      Buffer.alloc(4),
      uint16(data.length),
      data,
    ]),
  );
  return Buffer.concat([bytes, ...bodies]);
}

const read = (type: Type, records: RawRecord[]) =>
  readAnswer(answerTo(questionFor(type), records), questionFor(type))?.records;

test('reads only the first of a chain of aliases, which belongs to the name', () => {
  const records = [
    { type: 5, data: name('b', 'example') },
    { type: 5, data: name('c', 'example') },
  ];
  expect(read('CNAME', records)).toEqual([['b.example']]);
});

test('leaves out records of another type or class', () => {
  const data = Buffer.from([192, 0, 2, 1]);
  const records = [
    { type: 1, class: 3, data },
    { type: 16, data: Buffer.from('\x01a') },
  ];
  expect(read('A', records)).toEqual([]);
});

test('an answer that is too long is not unfolded', () => {
  const record = { type: 2, data: TO_QUESTION };
  const answer = answerTo(questionFor('NS'), Array(2_800).fill(record));
  expect(() => readAnswer(answer, questionFor('NS'))).toThrow('cannot be read');
});

test.each([
  ['1.2', '1.2'],
  ['_x.bücher.example.', '_x.xn--bcher-kva.example'],
])('asks for %j as %s', (written, asked) => {
  expect(nameInQuestion(written)).toBe(asked);
});

test('believes only an answer with the id, the name in any case and the type of the question', () => {
  const question = questionFor('A');
  const answer = answerTo(question, []);
  const changed = (at: number, byte: number) => {
    const copy = Buffer.from(answer);
    copy[at] = byte;
    return copy;
  };
  expect(readAnswer(answer, question)).toEqual({ rcode: 0, truncated: false, records: [] });
  expect(readAnswer(changed(13, 0x41), question)).toBeDefined();
  const wrong = {
    id: changed(1, 8),
    'a question': changed(2, 0x01),
    name: changed(13, 0x62),
    type: changed(answer.length - 3, 28),
    short: answer.subarray(0, 11),
    empty: Buffer.alloc(0),
  };
  for (const [what, message] of Object.entries(wrong)) {
    expect(readAnswer(message, question), what).toBeUndefined();
  }
});
