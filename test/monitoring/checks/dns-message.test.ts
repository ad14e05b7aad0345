import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  DnsMessageError,
  decodeAnswer,
  encodeQuestion,
  isAnswerTo,
} from '../../../src/monitoring/checks/dns-message.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

type Type = Parameters<typeof encodeQuestion>[2];

const TO_QUESTION = Buffer.from([0xc0, 12]);
const uint16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);

/** A name on the wire; a part with a character beyond ASCII stands for its bytes. */
const name = (...labels: string[]) =>
  Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]),
    Buffer.from([0]),
  ]);

interface RawRecord {
  owner?: Buffer;
  type: number;
  class?: number;
  data: Buffer;
}

function answerTo(question: Buffer, records: RawRecord[], flags = 0x8180): Buffer {
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(records.length, 6);
  const bodies = records.map(({ owner = TO_QUESTION, type, class: of = 1, data }) =>
    Buffer.concat([owner, uint16(type), uint16(of), Buffer.alloc(4), uint16(data.length), data]),
  );
  return Buffer.concat([head, question.subarray(12), ...bodies]);
}

/** What `node:dns` reads in such records, as it gives it. */
async function readByNode(type: Type, records: RawRecord[]): Promise<unknown> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => socket.send(answerTo(query, records), from.port));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return await resolver.resolve('a.example', type).catch(({ code }: { code: string }) => code);
}

function readByUs(type: Type, records: RawRecord[]) {
  const question = encodeQuestion(7, 'a.example', type);
  return decodeAnswer(answerTo(question, records), question, type).records;
}

describe('records are read as node:dns reads them', () => {
  const strange = name('a.b', 'c d', 'e\\f', '\xe9');

  test.each<{ type: Type; records: RawRecord[] }>([
    { type: 'A', records: [{ type: 1, data: Buffer.from([192, 0, 2, 1]) }] },
    {
      type: 'A',
      records: [
        { type: 5, data: name('b', 'example') },
        { owner: name('b', 'example'), type: 1, data: Buffer.from([192, 0, 2, 2]) },
      ],
    },
    { type: 'NS', records: [{ type: 2, data: strange }] },
    {
      type: 'NS',
      records: [{ type: 2, data: Buffer.concat([Buffer.from('\x02ns'), TO_QUESTION]) }],
    },
    { type: 'PTR', records: [{ type: 12, data: TO_QUESTION }] },
    {
      type: 'CNAME',
      records: [
        { type: 5, data: name('b', 'example') },
        { owner: name('b', 'example'), type: 5, data: name('c', 'example') },
      ],
    },
  ])('$type', async ({ type, records }) => {
    expect(readByUs(type, records).map((forms) => forms.at(-1))).toEqual(
      await readByNode(type, records),
    );
  });

  test('TXT', async () => {
    const records = [{ type: 16, data: Buffer.from('\x02ab\x00\x03c\xe9d', 'latin1') }];
    const [[...chunks] = []] = (await readByNode('TXT', records)) as string[][];
    expect(readByUs('TXT', records)).toEqual([[chunks.join('')]]);
  });

  test('MX', async () => {
    const records = [{ type: 15, data: Buffer.concat([uint16(0), name()]) }];
    // Node 24 adds a `type`.
    expect(await readByNode('MX', records)).toMatchObject([{ priority: 0, exchange: '' }]);
    expect(readByUs('MX', records)).toEqual([['0 ', '']]);
  });

  test('AAAA, SRV, SOA and CAA', async () => {
    const address = Buffer.from('20010db8000000000000000000000005', 'hex');
    const aaaa = [{ type: 28, data: address }];
    expect(await readByNode('AAAA', aaaa)).toEqual(['2001:db8::5']);
    expect(readByUs('AAAA', aaaa)).toEqual([['2001:db8:0:0:0:0:0:5']]);

    const srv = [{ type: 33, data: Buffer.concat([uint16(1), uint16(2), uint16(3), strange]) }];
    const [host] = (await readByNode('SRV', srv)) as Array<{ name: string }>;
    expect(readByUs('SRV', srv)).toEqual([[`1 2 3 ${host?.name}`, `${host?.name}:3`, host?.name]]);

    const serial = Buffer.concat([Buffer.from('78c2fa41', 'hex'), Buffer.alloc(16)]);
    const soa = [{ type: 6, data: Buffer.concat([TO_QUESTION, strange, serial]) }];
    const said = (await readByNode('SOA', soa)) as Record<string, unknown>;
    expect(readByUs('SOA', soa)).toEqual([
      [`${said.nsname} ${said.hostmaster} ${said.serial}`, String(said.serial), said.nsname],
    ]);

    const caa = [{ type: 257, data: Buffer.from('\x80\x05issueca.example', 'latin1') }];
    expect(await readByNode('CAA', caa)).toMatchObject([{ critical: 128, issue: 'ca.example' }]);
    expect(readByUs('CAA', caa)[0]).toContain('128 issue "ca.example"');
  });

  test('those of another type or class are left out', () => {
    const data = Buffer.from([192, 0, 2, 1]);
    expect(
      readByUs('A', [
        { type: 1, class: 3, data },
        { type: 16, data },
      ]),
    ).toEqual([]);
  });
});

describe('an answer that cannot be read', () => {
  const longest = Buffer.alloc(63, 'x').toString();

  test.each<{ why: string; type: Type; records: RawRecord[] }>([
    {
      why: 'a name that points to itself',
      type: 'NS',
      records: [{ type: 2, data: Buffer.from([0xc0, 39]) }],
    },
    {
      why: 'a name that points ahead',
      type: 'NS',
      records: [{ type: 2, data: Buffer.from([0xc0, 60]) }],
    },
    {
      why: 'an unknown kind of label',
      type: 'NS',
      records: [{ type: 2, data: Buffer.from([0x41, 0]) }],
    },
    {
      why: 'a name beyond 255 bytes',
      type: 'NS',
      records: [{ type: 2, data: name(...Array(4).fill(longest)) }],
    },
    {
      why: 'a name beyond its record',
      type: 'NS',
      records: [{ type: 2, data: name('abc').subarray(0, 3) }],
    },
    {
      why: 'an address that is too short',
      type: 'A',
      records: [{ type: 1, data: Buffer.alloc(3) }],
    },
    {
      why: 'an address that is too long',
      type: 'AAAA',
      records: [{ type: 28, data: Buffer.alloc(17) }],
    },
    {
      why: 'a text beyond its record',
      type: 'TXT',
      records: [{ type: 16, data: Buffer.from('\x05ab') }],
    },
    {
      why: 'an SOA without its numbers',
      type: 'SOA',
      records: [{ type: 6, data: Buffer.concat([name('a'), name('b')]) }],
    },
    {
      why: 'a tag beyond its record',
      type: 'CAA',
      records: [{ type: 257, data: Buffer.from('\x00\x09iss') }],
    },
  ])('for $why', ({ type, records }) => {
    expect(() => readByUs(type, records)).toThrow(DnsMessageError);
  });

  test('for fewer records than it counts', () => {
    const question = encodeQuestion(7, 'a.example', 'A');
    const answer = answerTo(question, []);
    answer.writeUInt16BE(1, 6);
    expect(() => decodeAnswer(answer, question, 'A')).toThrow(DnsMessageError);
  });
});

test('no message makes reading it slow, or fail in another way', () => {
  const random = createRandom(seed());
  const below = (limit: number) => Math.floor(random() * limit);
  const types: Type[] = ['A', 'AAAA', 'NS', 'CNAME', 'PTR', 'MX', 'TXT', 'SRV', 'SOA', 'CAA'];
  const numbers = [1, 28, 2, 5, 12, 15, 16, 33, 6, 257];
  let read = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const kind = below(types.length);
    const type = types[kind] ?? 'A';
    const question = encodeQuestion(7, 'a.example', type);
    const records = Array.from({ length: below(4) }, () => ({
      type: numbers[kind] ?? 1,
      data: Buffer.concat([Buffer.from([0, below(256), below(8)]), name('ab'), TO_QUESTION]),
    }));
    const answer = answerTo(question, records);
    for (let changes = below(5); changes > 0; changes -= 1) {
      answer[12 + below(answer.length - 12)] = below(4) === 0 ? 0xc0 : below(256);
    }
    try {
      decodeAnswer(answer, question, type);
      read += 1;
    } catch (error) {
      expect(error).toBeInstanceOf(DnsMessageError);
    }
  }
  expect(read).toBeGreaterThan(1_000);
});

test('a message of pointers is given up when it comes to say too much, and soon', () => {
  const question = encodeQuestion(7, 'a.example', 'NS');
  // 126 labels of one letter, which every record points at.
  const long = Buffer.concat([Buffer.alloc(252, '\x01a'), Buffer.from([0])]);
  const records: RawRecord[] = [{ type: 2, data: long }];
  const to = question.length + 12;
  for (let size = to + long.length; size < 65_500; size += 14) {
    records.push({ type: 2, data: Buffer.from([0xc0 | (to >> 8), to & 0xff]) });
  }
  const answer = answerTo(question, records);
  const before = process.cpuUsage();
  expect(() => decodeAnswer(answer, question, 'NS')).toThrow('too long');
  // Microseconds of this process, whoever else presses the machine.
  expect(process.cpuUsage(before).user).toBeLessThan(100_000);
});

describe('a question', () => {
  test.each(['', 'a..b', '.', `${'x'.repeat(64)}.example`, `${'abc.'.repeat(64)}example`])(
    'is not asked for %j',
    (wrong) => {
      expect(() => encodeQuestion(1, wrong, 'A')).toThrow(DnsMessageError);
    },
  );

  test('asks for a name of figures as it is, and for one of other letters in Punycode', () => {
    const asked = (target: string) => encodeQuestion(1, target, 'A').toString('latin1', 12);
    expect(asked('1.2')).toBe('\x011\x012\0\0\x01\0\x01');
    expect(asked('_x.bücher.example.')).toBe('\x02_x\x0dxn--bcher-kva\x07example\0\0\x01\0\x01');
  });

  test('is answered only by its id, its name in any case and its type', () => {
    const question = encodeQuestion(0x1234, 'a.example', 'A');
    const answer = answerTo(question, []);
    const changed = (at: number, byte: number) => {
      const copy = Buffer.from(answer);
      copy[at] = byte;
      return copy;
    };
    expect(isAnswerTo(answer, question)).toBe(true);
    expect(isAnswerTo(changed(13, 0x41), question)).toBe(true);
    const wrong = {
      id: changed(1, 0x35),
      'a question': changed(2, 0x01),
      opcode: changed(2, 0xa1),
      'two questions': changed(5, 2),
      name: changed(13, 0x62),
      type: changed(answer.length - 3, 28),
      short: answer.subarray(0, answer.length - 1),
      empty: Buffer.alloc(0),
    };
    for (const [what, message] of Object.entries(wrong)) {
      expect(isAnswerTo(message, question), what).toBe(false);
    }
  });
});
