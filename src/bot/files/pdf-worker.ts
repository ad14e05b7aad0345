import { parentPort, workerData } from 'node:worker_threads';
import { getDocumentProxy } from 'unpdf';

/** What the worker is given, and what it tells: pieces as they come, so that what was read stays when it is ended. */
export interface PdfTask {
  bytes: Uint8Array;
  maxPages: number;
  maxCharacters: number;
}
export type PdfTold =
  | { kind: 'pages'; pages: number }
  | { kind: 'page'; text: string; isCut: boolean }
  | { kind: 'end' }
  | { kind: 'refused'; why: 'locked' | 'damaged' };

const tell = (told: PdfTold) => parentPort?.postMessage(told);

/** Reads the text page by page; runs nothing that stands in the file, fetches nothing and draws nothing. */
async function readPages({ bytes, maxPages, maxCharacters }: PdfTask): Promise<void> {
  const pdf = await getDocumentProxy(bytes, {
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
    verbosity: 0,
  });
  tell({ kind: 'pages', pages: pdf.numPages });
  let left = maxCharacters;
  for (let number = 1; number <= Math.min(pdf.numPages, maxPages) && left > 0; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const whole = items
      .map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
      .join('');
    const text = whole.slice(0, left);
    left -= text.length;
    tell({ kind: 'page', text, isCut: text.length < whole.length });
    page.cleanup();
  }
  tell({ kind: 'end' });
}

readPages(workerData as PdfTask).catch((error: unknown) => {
  const isLocked = error instanceof Error && error.name === 'PasswordException';
  tell({ kind: 'refused', why: isLocked ? 'locked' : 'damaged' });
});
