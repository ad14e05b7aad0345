import { expect, test } from 'vitest';
import { createPdfReader, type PDF_LIMITS } from '../../../src/bot/files/pdf.ts';
import { FileError } from '../../../src/bot/shared/shared-file.ts';
import { madePdf, packedPdf } from '../../helpers/files/made-pdf.ts';
import { pdfProgram } from '../../helpers/files/reader-program.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

function readerWith(limits: Partial<Record<keyof typeof PDF_LIMITS, number>> = {}) {
  const { log, lines } = recordingLog();
  const { read, stop } = createPdfReader({ program: pdfProgram(), limits, log });
  const never = new AbortController().signal;
  return { lines, stop, read: (bytes: Uint8Array, signal = never) => read(bytes, signal) };
}

const pagesOf = (count: number) =>
  madePdf(Array.from({ length: count }, (_, at) => `This is page ${at + 1}.`));

test('reads the first pages of a long PDF and says so', async () => {
  const { read, lines } = readerWith();
  const { text, more } = await read(pagesOf(1_000));
  expect(text).toMatch(/^This is page 1\.\n\n[\s\S]*This is page 200\.$/);
  expect(more).toBe('200 of 1000 pages were read');
  expect(lines).toEqual([]);
});

test('stops at the limit of characters', async () => {
  const { read } = readerWith({ characters: 40 });
  const { text, more } = await read(pagesOf(9));
  expect(text.replaceAll('\n\n', '').length).toBeLessThanOrEqual(40);
  expect(more).toBe('3 of 9 pages were read, the last one in part');
  const { read: readOne } = readerWith({ characters: 5 });
  expect((await readOne(await pagesOf(1))).more).toBe(
    '1 of 1 pages were read, the last one in part',
  );
});

test.each([
  ['garbage', Buffer.from('%PDF-1.7 and then something else')],
  ['one that is cut off', pagesOf(3).subarray(0, 400)],
  ['one of NULs', Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(100_000)])],
])('says that %s is damaged', async (_what, bytes) => {
  const { read } = readerWith();
  await expect(read(bytes)).rejects.toThrow(/^the PDF is damaged/);
});

test('refuses a PDF without text', async () => {
  const { read } = readerWith();
  const drawn = madePdf(['x'], { content: () => Buffer.from('10 10 100 100 re f') });
  await expect(read(drawn)).rejects.toThrow(/^it has no text/);
});

test('refuses a PDF with a password', async () => {
  const { read } = readerWith();
  const hex = 'ab'.repeat(32);
  const trailer = ` /ID [<${hex}> <${hex}>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <${hex}> /U <${hex}> /P -4 >>`;
  await expect(read(madePdf(['x'], { trailer }))).rejects.toThrow(
    /^it is protected with a password/,
  );
});

test('ends a PDF at the time limit', async () => {
  // Less than a process takes to start, so that no other limit comes first.
  const { read } = readerWith({ timeMs: 20 });
  await expect(read(packedPdf(20))).rejects.toThrow(
    'it takes longer than 1 second. Send only the pages that matter.',
  );
});

test('ends a PDF at the memory limit of its process', async () => {
  const { read } = readerWith({ timeMs: 60_000 });
  const bomb = packedPdf(300);
  const before = process.memoryUsage.rss();
  await expect(read(bomb)).rejects.toThrow(/^it needs too much memory/);
  expect((process.memoryUsage.rss() - before) / 1_048_576).toBeLessThan(100);
});

test('an aborted PDF makes room for the next', async () => {
  const { read } = readerWith({ timeMs: 60_000 });
  const gone = new AbortController();
  const slow = read(packedPdf(20), gone.signal);
  const next = read(madePdf(['Here.']));
  gone.abort(new Error('gone'));
  await expect(slow).rejects.toThrow('gone');
  expect((await next).text).toBe('Here.');
});

test('refuses a PDF if too many are waiting', async () => {
  const { read, stop } = readerWith({ timeMs: 60_000 });
  const all = Array.from({ length: 17 }, () => read(madePdf(['Here.'])));
  const refused = all.pop();
  await expect(refused).rejects.toThrow(FileError);
  await expect(refused).rejects.toThrow(/^too many PDFs/);
  stop();
  await Promise.allSettled(all);
});
