import { isUtf8 } from 'node:buffer';
import type { BigIntStats } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SourceFile } from './definitions.ts';
import { DefinitionsError } from './problem.ts';

const MAX_FILES = 500;
const MAX_FILE_BYTES = 5 * 1024 * 1024;
const MAX_ALL_BYTES = 20 * 1024 * 1024;

const EXTENSION = /\.(ya?ml|json)$/i;

interface FoundFile {
  /** For people: the configured path, plus the file's name if that is a folder. */
  name: string;
  path: string;
  stats: BigIntStats;
}

/**
 * Finds the file at a path, or a folder's .yaml, .yml and .json files in the order of their names, except hidden ones. Links are
 * followed, because a mounted folder may consist of them. Throws a `DefinitionsError` that says what to do.
 */
async function findFiles(path: string): Promise<FoundFile[]> {
  const at = await look(path, path);
  if (at.isFile()) return [{ name: path, path, stats: at }];
  if (!at.isDirectory())
    throw unreadable(path, 'this is neither a file nor a folder; set MONITORS_FILE to one');
  const names = (await readdir(path)).filter(
    (name) => EXTENSION.test(name) && !name.startsWith('.'),
  );
  if (names.length > MAX_FILES) {
    throw unreadable(
      path,
      `the folder has ${names.length} files, but at most ${MAX_FILES} are read; merge some`,
    );
  }
  const found: FoundFile[] = [];
  for (const name of names.sort()) {
    const file = join(path, name);
    const stats = await look(file, file);
    if (stats.isFile()) found.push({ name: file, path: file, stats });
  }
  if (found.length === 0) {
    throw unreadable(
      path,
      'the folder has no file that ends in .yaml, .yml or .json; for no monitors, add one with monitors: {}',
    );
  }
  return found;
}

async function look(path: string, name: string): Promise<BigIntStats> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    throw unreadable(name, sentenceOf(error));
  }
}

function sentenceOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') {
    return 'this file does not exist; create it, or set MONITORS_FILE to the right path. For no monitors, write monitors: {} into it';
  }
  if (code === 'EACCES') return 'permission denied; allow the user that runs Askwatch to read it';
  return `it cannot be read (${code ?? (error as Error).message}); try again`;
}

const unreadable = (file: string, message: string) =>
  new DefinitionsError([{ file, line: 1, column: 1, message }]);

/** A text that changes when any of the files does, or a link leads to another file. Unreadable files have one too. */
export async function fingerprint(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    const files = await findFiles(path);
    const each = files.map(
      ({ name, stats: { dev, ino, size, mtimeNs, ctimeNs } }) =>
        `${name} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    );
    return [real, ...each].join('\n');
  } catch (error) {
    return `unreadable ${(error as Error).message}`;
  }
}

export async function readSourceFiles(path: string): Promise<SourceFile[]> {
  const found = await findFiles(path);
  const files: SourceFile[] = [];
  let left = MAX_ALL_BYTES;
  for (const { name, path: file } of found) {
    const bytes = await readBounded(file, name);
    left -= bytes.length;
    if (left < 0) {
      throw unreadable(
        name,
        `with this file, the files hold more than ${MAX_ALL_BYTES / 1024 / 1024} MB together; declare fewer monitors`,
      );
    }
    files.push({ name, text: textOf(bytes, name) });
  }
  return files;
}

/** Counts while it reads, because a file can grow in the meantime. */
async function readBounded(path: string, name: string): Promise<Buffer> {
  try {
    const file = await open(path);
    try {
      const pieces: Buffer[] = [];
      let size = 0;
      for await (const piece of file.createReadStream({ autoClose: false })) {
        size += piece.length;
        if (size > MAX_FILE_BYTES) {
          throw unreadable(
            name,
            `the file is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB; split it into several files in a folder`,
          );
        }
        pieces.push(piece);
      }
      return Buffer.concat(pieces);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof DefinitionsError) throw error;
    throw unreadable(name, sentenceOf(error));
  }
}

function textOf(bytes: Buffer, name: string): string {
  const text = new TextDecoder('utf-8').decode(bytes);
  if (isUtf8(bytes)) return text;
  // The decoder writes this character for bytes that aren't text.
  const line = text.split('\ufffd', 1)[0]?.split('\n').length ?? 1;
  const message = 'this is not UTF-8 text; save the file as UTF-8';
  throw new DefinitionsError([{ file: name, line, column: 1, message }]);
}
