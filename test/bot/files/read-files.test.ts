import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  createFileReader,
  type FileContent,
  type FileLimits,
} from '../../../src/bot/files/read-files.ts';
import { FileError } from '../../../src/bot/shared/shared-file.ts';
import { gif, jpeg, png, webp } from '../../helpers/files/made-pictures.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

type Stream = AsyncIterable<Uint8Array>;

async function* inPieces(bytes: Uint8Array, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const PLACE = { platform: 'console', channel: 'general' };
const NEVER = new AbortController().signal;

/** Reads what is streamed, whatever anybody says of it. */
async function readAll(
  streams: readonly Stream[],
  limits: Partial<FileLimits> = {},
  signal = NEVER,
): Promise<FileContent[]> {
  const { log } = recordingLog();
  const reader = createFileReader({
    open: (_place, { ref }) => streams[Number(ref.at)] as Stream,
    readPdf: async (bytes) => ({ text: `PDF of ${bytes.length} bytes` }),
    limits,
    log,
  });
  const files = streams.map((_, at) => ({
    name: 'screen.png',
    mediaType: 'image/png',
    bytes: 10,
    ref: { at: String(at) },
  }));
  return await reader.read(PLACE, files, signal);
}

const read = async (bytes: Uint8Array | Stream, limits = {}) => {
  const stream = bytes instanceof Uint8Array ? inPieces(bytes) : bytes;
  const [content] = await readAll([stream], limits);
  return content as FileContent;
};

const whyNot = (content: FileContent) =>
  content.kind === 'unread' ? content.error.message : `read as ${content.kind}`;

test.each([
  ['PNG', png(), 'image/png'],
  ['JPEG', jpeg(), 'image/jpeg'],
  ['GIF', gif(), 'image/gif'],
  ['WebP', webp(), 'image/webp'],
])('reads a %s as what it is', async (_what, bytes, mediaType) => {
  expect(await read(bytes)).toEqual({
    kind: 'picture',
    mediaType,
    bytes: bytes.length,
    base64: bytes.toString('base64'),
  });
});

test.each([
  ['UTF-8', Buffer.from('Grüße\r\nan alle\n'), 'Grüße\nan alle\n'],
  ['UTF-8 with a mark', Buffer.from('\ufeffGrüße'), 'Grüße'],
  ['UTF-16', Buffer.from('\ufeffGrüße', 'utf16le'), 'Grüße'],
  ['UTF-16 the other way', Buffer.from('\ufeffGrüße', 'utf16le').swap16(), 'Grüße'],
  ['a log with colours', Buffer.from('\u001b[31mred\u001b[0m\n'), '[31mred[0m\n'],
  [
    'one byte that is wrong among many',
    Buffer.from(`${'a'.repeat(400)}\xff`, 'latin1'),
    `${'a'.repeat(400)}\ufffd`,
  ],
])('reads a text: %s', async (_what, bytes, text) => {
  expect(await read(bytes)).toEqual({ kind: 'text', text });
});

test('reads deep JSON as text', async () => {
  const deep = '['.repeat(200_000);
  expect(await read(Buffer.from(deep))).toEqual({ kind: 'text', text: deep });
});

test('reads only the beginning of an endless text', async () => {
  let given = 0;
  let isLeft = false;
  async function* endless() {
    try {
      for (;;) {
        given += 1_000;
        yield Buffer.alloc(1_000, 'line\n');
      }
    } finally {
      isLeft = true;
    }
  }
  const content = await read(endless(), { textBytes: 10_000 });
  expect(content).toMatchObject({ kind: 'text', more: 'the file continues after that' });
  expect(content.kind === 'text' && content.text).toHaveLength(10_000);
  expect(given).toBeLessThan(20_000);
  expect(isLeft).toBe(true);
});

test('cuts a text between characters', async () => {
  const content = await read(Buffer.from('ü'.repeat(100)), { textBytes: 101 });
  expect(content).toMatchObject({ kind: 'text', text: 'ü'.repeat(50) });
});

test.each([
  ['nothing', Buffer.alloc(0), /^it is empty/],
  ['NULs in a text', Buffer.from('text\0text'), /^it is not an image, text file or PDF/],
  ['an archive', Buffer.from('PK\x03\x04\0\0'), /^it is an archive or an Office document/],
  ['a phone’s picture', Buffer.from('\0\0\0\x18ftypheic\0'), /^it is a HEIC photo/],
  ['a program', Buffer.from('\x7fELF\0\0'), /^it is a program/],
  ['bytes without sense', Buffer.from([1, 2, 3, 200, 201, 255]), /^it is not an image/],
  ['a picture that is cut off', png(50, 50).subarray(0, 60), /damaged or incomplete/],
  ['a picture of nothing but its first bytes', png().subarray(0, 8), /damaged or incomplete/],
  ['a JPEG without a frame', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 2]), /damaged or incomplete/],
  ['a picture without a side', png(2, 2, { says: [0, 2] }), /damaged or incomplete/],
  [
    'a picture of 50,000 pixels',
    png(2, 2, { says: [50_000, 50_000] }),
    /^it has 50,000 × 50,000 pixels/,
  ],
  ['a WebP that is too wide', webp(16_000, 10), /^it has 16,000 × 10 pixels/],
  ['a JPEG that is too high', jpeg(10, 9_000), /^it has 10 × 9,000 pixels/],
])('refuses %s kindly', async (_what, bytes, why) => {
  expect(whyNot(await read(bytes))).toMatch(why);
});

test('refuses a large picture, whatever its stated size', async () => {
  const large = png(2, 2, { padding: 60_000 });
  let given = 0;
  async function* counted() {
    for await (const part of inPieces(large)) {
      given += part.length;
      yield part;
    }
  }
  const content = await read(counted(), { pictureBytes: 20_000 });
  expect(whyNot(content)).toBe('it is larger than 0.02 MB. Make it smaller, or crop it.');
  expect(given).toBeLessThan(30_000);
});

test('refuses a large PDF', async () => {
  const pdf = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(30_000, 32)]);
  expect(await read(pdf)).toEqual({ kind: 'text', text: 'PDF of 30009 bytes' });
  expect(whyNot(await read(pdf, { pdfBytes: 20_000 }))).toMatch(/^it is larger than 0.02 MB/);
});

test('a file that does not come in time is unread, and the others are read', async () => {
  const ended: string[] = [];
  async function* slow(signal: AbortSignal) {
    yield Buffer.from('begin');
    try {
      await pause(60_000, undefined, { signal });
    } finally {
      ended.push('slow');
    }
  }
  const { log } = recordingLog();
  const reader = createFileReader({
    open: (_place, { name }, signal) =>
      name === 'slow' ? slow(signal) : inPieces(Buffer.from('here')),
    readPdf: async () => ({ text: '' }),
    limits: { fetchMs: 50 },
    log,
  });
  const files = [
    { name: 'slow', ref: {} },
    { name: 'quick', ref: {} },
  ];
  const [first, second] = await reader.read(PLACE, files, NEVER);
  expect(whyNot(first as FileContent)).toMatch(/^it took longer than 1 second to download/);
  expect(second).toEqual({ kind: 'text', text: 'here' });
  expect(ended).toEqual(['slow']);
});

test('throws the signal’s reason', async () => {
  const gone = new AbortController();
  async function* stuck() {
    yield Buffer.from('begin');
    gone.abort(new Error('stopped'));
    throw new Error('aborted');
  }
  await expect(readAll([stuck()], {}, gone.signal)).rejects.toThrow('stopped');
});

test('refuses files that are too large together', async () => {
  const streams = Array.from({ length: 5 }, () => inPieces(png(2, 2, { padding: 10_000 })));
  const contents = await readAll(streams, { heldBytes: 25_000 });
  expect(contents.map(({ kind }) => kind)).toContain('unread');
  const reasons = contents.filter(({ kind }) => kind === 'unread').map(whyNot);
  expect(new Set(reasons)).toEqual(
    new Set(['the files of this question are too large together. Send fewer at a time.']),
  );
});

test('passes on a platform’s reason, and hides other errors', async () => {
  async function* refused(error: Error) {
    yield Buffer.from('begin');
    throw error;
  }
  const contents = await readAll([
    refused(new FileError('it is no longer there. Send it again.', { isGone: true })),
    refused(new Error('connect ECONNREFUSED 10.0.0.1')),
  ]);
  expect(contents.map(whyNot)).toEqual([
    'it is no longer there. Send it again.',
    'something went wrong. Your Askwatch admin can find the cause in the log.',
  ]);
});
