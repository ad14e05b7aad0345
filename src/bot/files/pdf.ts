import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { FileError } from '../shared/shared-file.ts';
import { inWords } from '../shared/text-format.ts';
import type { PdfTask, PdfTold } from './pdf-worker.ts';
import type { PdfText } from './read-files.ts';

/** Of one PDF; the time is that of its thread, from its start. */
export const PDF_LIMITS = {
  pages: 200,
  characters: 400_000,
  timeMs: 10_000,
  memoryMb: 256,
  /** By which the whole program may grow meanwhile: what is unpacked is not counted to the memory of a thread. */
  growthMb: 200,
} as const;

const LOOK_EVERY_MS = 50;

/** Files that may wait to be read; one is read at a time, for it takes a processor of its own. */
const MAX_WAITING = 16;

const SCANNED = 'there is no text in it, as where pages are pictures. Send pictures of the pages.';
const LOCKED = 'it is locked with a password. Send it without.';
const DAMAGED = 'the PDF is damaged. Send it again.';
const BUSY = 'too many PDFs are being read just now. Ask again in a moment.';
const TOO_MUCH = 'it takes more memory than a file is given';

/**
 * Reads the text of PDFs, each in a thread of its own, which is ended at its limits: what was read by then is given. The program
 * of the thread lies beside this one unless `workerUrl` says where.
 */
export function createPdfReader(options: {
  workerUrl?: URL | undefined;
  limits?: Partial<Record<keyof typeof PDF_LIMITS, number>>;
  log: Logger;
}) {
  const { log } = options;
  const { workerUrl = new URL('./pdf-worker.js', import.meta.url) } = options;
  const limits = { ...PDF_LIMITS, ...options.limits };
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  const running = new Set<Worker>();

  async function inTurn(bytes: Uint8Array, signal: AbortSignal): Promise<PdfText> {
    if (waiting >= MAX_WAITING) throw new FileError(BUSY);
    waiting += 1;
    const read = last.then(async () => {
      signal.throwIfAborted();
      return await readOne(bytes, signal);
    });
    last = read
      .catch(() => {})
      .finally(() => {
        waiting -= 1;
      });
    return await read;
  }

  async function readOne(bytes: Uint8Array, signal: AbortSignal): Promise<PdfText> {
    const task: PdfTask = {
      bytes,
      maxPages: limits.pages,
      maxCharacters: limits.characters,
    };
    const worker = new Worker(workerUrl, {
      workerData: task,
      // Nothing of the program's own is for a library that reads what anybody sent.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: limits.memoryMb,
        maxYoungGenerationSizeMb: 32,
        stackSizeMb: 4,
      },
    });
    running.add(worker);
    try {
      return await told(worker, signal);
    } finally {
      running.delete(worker);
      await worker.terminate();
    }
  }

  function told(worker: Worker, signal: AbortSignal): Promise<PdfText> {
    return new Promise((resolve, reject) => {
      const texts: string[] = [];
      let pages = 0;
      let isCut = false;
      const tooLong = `it takes longer than ${inWords(limits.timeMs)}`;
      const timer = setTimeout(() => end(tooLong), limits.timeMs);
      const atFirst = process.memoryUsage.rss();
      const watch = setInterval(() => {
        const grownMb = (process.memoryUsage.rss() - atFirst) / 1_048_576;
        if (grownMb > limits.growthMb) end(TOO_MUCH);
      }, LOOK_EVERY_MS);
      const onAbort = () => settle(() => reject(signal.reason));
      signal.addEventListener('abort', onAbort);

      function settle(act: () => void) {
        clearTimeout(timer);
        clearInterval(watch);
        signal.removeEventListener('abort', onAbort);
        act();
      }

      /** With what was read; `why` says why that is not all. */
      function end(why?: string) {
        const text = texts.join('\n\n').trim();
        const isAll = why === undefined && texts.length >= pages && !isCut;
        const readPages = `${texts.length} of ${pages} pages were read${isCut ? ', the last of them in part' : ''}`;
        const more = why === undefined ? readPages : `${readPages}, since ${why}`;
        const empty = why === undefined ? SCANNED : `${why}. Send the pages that matter.`;
        settle(() => {
          if (text === '') reject(new FileError(empty));
          else resolve({ text, ...(!isAll && { more }) });
        });
      }

      worker.on('message', (message: PdfTold) => {
        if (message.kind === 'pages') ({ pages } = message);
        else if (message.kind === 'page') {
          texts.push(message.text);
          isCut ||= message.isCut;
        } else if (message.kind === 'end') end();
        else settle(() => reject(new FileError(message.why === 'locked' ? LOCKED : DAMAGED)));
      });
      worker.on('error', (error: Error & { code?: string }) => {
        const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        if (isMemory) return end(TOO_MUCH);
        log.error({ err: error }, 'the thread that reads PDFs failed');
        settle(() => reject(new FileError(DAMAGED, { cause: error })));
      });
      worker.on('exit', () => settle(() => reject(new FileError(DAMAGED))));
    });
  }

  return {
    /** The text of a PDF, or of its beginning. Throws a `FileError`, or the signal's reason. */
    read: inTurn,
    /** Ends what is being read. */
    async stop() {
      await Promise.all([...running].map((worker) => worker.terminate()));
    },
  };
}
