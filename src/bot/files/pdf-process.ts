import { getDocumentProxy } from 'unpdf';
import { serveReader } from '../../contracts/reader-process.ts';

export interface PdfTask {
  bytes: Uint8Array;
  maxPages: number;
  maxCharacters: number;
}

/** Pages are sent as they are read, so that they remain when the process reaches a limit. */
export type PdfMessage =
  | { kind: 'pages'; pages: number }
  | { kind: 'page'; text: string; isCut: boolean }
  | { kind: 'refused'; why: 'locked' | 'damaged' };

/** Reads the text page by page. Runs no script of the file, fetches nothing and draws nothing. */
async function readPages(
  { bytes, maxPages, maxCharacters }: PdfTask,
  send: (message: PdfMessage) => Promise<void>,
): Promise<void> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes), {
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
    verbosity: 0,
  });
  await send({ kind: 'pages', pages: pdf.numPages });
  let left = maxCharacters;
  for (let number = 1; number <= Math.min(pdf.numPages, maxPages) && left > 0; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const whole = items
      .map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
      .join('');
    const text = whole.slice(0, left);
    left -= text.length;
    await send({ kind: 'page', text, isCut: text.length < whole.length });
    page.cleanup();
  }
}

serveReader<PdfTask, PdfMessage>(async (task, send) => {
  try {
    await readPages(task, send);
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    await send({ kind: 'refused', why: isLocked ? 'locked' : 'damaged' });
  }
});
