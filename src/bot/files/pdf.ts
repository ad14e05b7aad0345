import type { Logger } from 'pino';
import { runReader } from '../../contracts/reader-process.ts';
import { FileError } from '../shared/shared-file.ts';
import { inWords } from '../shared/text-format.ts';
import type { PdfMessage, PdfTask } from './pdf-process.ts';
import type { PdfText } from './read-files.ts';

/** Limits of one PDF and its process. Together with the program they fit into 512 MiB. */
export const PDF_LIMITS = {
  pages: 200,
  characters: 400_000,
  timeMs: 10_000,
  memoryMb: 192,
  heapMb: 128,
} as const;

const MAX_WAITING = 16;

const SCANNED = 'it has no text; its pages may be scans. Send images of the pages.';
const LOCKED = 'it is protected with a password. Send it without one.';
const DAMAGED = 'the PDF is damaged. Send it again.';
const BUSY = 'too many PDFs are being read now. Ask again in a moment.';
const TOO_MUCH = 'it needs too much memory';

/**
 * Reads the text of PDFs, each in its own process. At a limit the process ends and the pages so far are returned. `program` is
 * the built program of that process; without it, the file next to this one.
 */
export function createPdfReader({
  program = new URL('./pdf-process.js', import.meta.url),
  log,
  ...options
}: {
  program?: URL;
  limits?: Partial<Record<keyof typeof PDF_LIMITS, number>>;
  log: Logger;
}) {
  const limits = { ...PDF_LIMITS, ...options.limits };
  const stopping = new AbortController();
  let waiting = 0;

  return {
    /** Throws a `FileError`, or the signal's reason. */
    async read(bytes: Uint8Array, signal: AbortSignal): Promise<PdfText> {
      if (waiting >= MAX_WAITING) throw new FileError(BUSY);
      waiting += 1;
      try {
        return await readPdf(bytes, {
          program,
          limits,
          signal: AbortSignal.any([signal, stopping.signal]),
          log,
        });
      } finally {
        waiting -= 1;
      }
    },
    stop(): void {
      stopping.abort();
    },
  };
}

async function readPdf(
  bytes: Uint8Array,
  {
    program,
    limits,
    signal,
    log,
  }: {
    program: URL;
    limits: Record<keyof typeof PDF_LIMITS, number>;
    signal: AbortSignal;
    log: Logger;
  },
): Promise<PdfText> {
  const task: PdfTask = { bytes, maxPages: limits.pages, maxCharacters: limits.characters };
  const texts: string[] = [];
  let pages = 0;
  let isCut = false;
  let refusal: string | undefined;
  const onMessage = (message: PdfMessage) => {
    if (message.kind === 'pages') ({ pages } = message);
    else if (message.kind === 'refused') refusal = message.why === 'locked' ? LOCKED : DAMAGED;
    else {
      texts.push(message.text);
      isCut ||= message.isCut;
    }
  };
  const end = await runReader({ program, task, limits, signal, onMessage }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      log.error({ err: error }, 'the PDF reader process failed');
      throw new FileError(DAMAGED, { cause: error });
    },
  );
  if (refusal !== undefined) throw new FileError(refusal);
  const reached = {
    done: undefined,
    memory: TOO_MUCH,
    time: `it takes longer than ${inWords(limits.timeMs)}`,
  }[end];
  const text = texts.join('\n\n').trim();
  if (text === '') {
    throw new FileError(
      reached === undefined ? SCANNED : `${reached}. Send only the pages that matter.`,
    );
  }
  if (reached === undefined && texts.length >= pages && !isCut) return { text };
  const more = `${texts.length} of ${pages} pages were read${isCut ? ', the last one in part' : ''}`;
  return { text, more: reached === undefined ? more : `${more}, because ${reached}` };
}
