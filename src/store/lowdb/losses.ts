import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ACKNOWLEDGED, type Extent, openAcknowledged, readAcknowledged } from './acknowledged.ts';
import { dayPath, extentOf } from './day-file.ts';
import { ifThere, namesIn, replaceFile } from './files.ts';

/** File of the data folder that says what was found to be lost, for `askwatch doctor`. */
export const LOSSES = 'losses.json';

/** How many are kept, the newest. */
const MAX_LOSSES = 100;

const Loss = z.object({
  atMs: z.int(),
  /** Below the data folder. */
  file: z.string(),
  what: z.string(),
});
export type Loss = z.infer<typeof Loss>;

/** Notes what was found to be lost. */
export type Losses = ReturnType<typeof openLosses>;

export function openLosses(folder: string, log: Logger) {
  let last: Promise<void> = Promise.resolve();

  async function add(file: string, what: string) {
    const known = await readLosses(folder);
    if (known.some((loss) => loss.file === file && loss.what === what)) return;
    const all = [...known, { atMs: Date.now(), file, what }].slice(-MAX_LOSSES);
    await replaceFile(join(folder, LOSSES), `${JSON.stringify(all, null, 1)}\n`);
  }

  return {
    /** The same that was found of the same file before is not noted again. Never rejects. */
    note(file: string, what: string): Promise<void> {
      // What was lost is in the log, so that nobody has to be kept from what is left.
      last = last
        .then(() => add(file, what))
        .catch((error: unknown) => log.warn({ err: error, file }, 'could not record a loss'));
      return last;
    },
  };
}

/** What was found to be lost so far; nothing of a file that cannot be read. */
async function readLosses(folder: string): Promise<Loss[]> {
  const text = await ifThere(readFile(join(folder, LOSSES), 'utf8'));
  try {
    return z
      .array(Loss)
      .catch([])
      .parse(JSON.parse(text ?? '[]'));
  } catch {
    return [];
  }
}

/**
 * Compares all journals with what was acknowledged of them, tells what is missing, and notes it: once, since from then on
 * less is expected. To be called before any is opened.
 */
export async function reportLosses(folder: string, losses: Losses, log: Logger): Promise<void> {
  for (const { journal, day, noted, lost } of await compare(folder)) {
    const path = dayPath(join(folder, journal), day);
    log.warn(
      { file: path, lostBytes: lost.bytes, lostRecords: lost.records },
      'a journal is shorter than acknowledged; its last records are lost',
    );
    await losses.note(join(journal, basename(path)), inWords(lost));
    const notes = await openAcknowledged(join(folder, ACKNOWLEDGED, journal));
    const left = { bytes: noted.bytes - lost.bytes, records: noted.records - lost.records };
    await (left.bytes === 0 ? notes.forget([day]) : notes.note(day, left));
    await notes.close();
  }
}

/** What is lost of the journals in a data folder: noted at a start, or seen now while the program does not run. Only reads. */
export async function findLosses(folder: string, { isRunning }: { isRunning: boolean }) {
  const seen = isRunning ? [] : await compare(folder);
  return [
    ...(await readLosses(folder)),
    ...seen.map(({ journal, day, lost }): Loss => {
      const file = join(journal, basename(dayPath(folder, day)));
      return { atMs: Date.now(), file, what: inWords(lost) };
    }),
  ];
}

/** Files that are shorter than what was acknowledged of them. */
async function compare(folder: string) {
  const shorter: Array<{ journal: string; day: string; noted: Extent; lost: Extent }> = [];
  for (const journal of await namesIn(join(folder, ACKNOWLEDGED))) {
    for (const [day, noted] of await readAcknowledged(join(folder, ACKNOWLEDGED, journal))) {
      const path = dayPath(join(folder, journal), day);
      const found = await ifThere(stat(path));
      if (found && found.size >= noted.bytes) continue;
      const left = await extentOf(path);
      const records = Math.max(0, noted.records - left.records);
      shorter.push({ journal, day, noted, lost: { bytes: noted.bytes - left.bytes, records } });
    }
  }
  return shorter;
}

function inWords({ bytes, records }: Extent): string {
  const count = records === 1 ? 'its last record' : `its last ${records} records`;
  return `is shorter than acknowledged: lost ${count} (${bytes} bytes)`;
}
