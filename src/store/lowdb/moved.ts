import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CorruptDocumentError } from '../errors.ts';
import { assertNotMarked, StateMark } from '../move-mark.ts';
import { ifThere, removeIfThere, replaceFile, syncFolder } from './files.ts';

/** File of the data folder that holds its mark. */
export const MOVED = 'moved.json';

export const HOW_TO_EMPTY = 'empty the folder, or set DATA_DIR to another one';

export const placeOf = (folder: string) => `the data folder ${folder}`;

/** Throws `StateMovedError` if the state was moved away, or its copy to this folder is unfinished. */
export async function assertNotMoved(folder: string): Promise<void> {
  assertNotMarked(placeOf(folder), await readMark(folder), {
    useOther: 'set DATABASE_URL to it',
    finishCopy: 'npx askwatch move-state --back',
    howToEmpty: HOW_TO_EMPTY,
  });
}

export async function readMark(folder: string): Promise<StateMark | undefined> {
  const path = join(folder, MOVED);
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return StateMark.parse(JSON.parse(text));
  } catch {
    throw new CorruptDocumentError(
      `The file ${path}, which says where the state was moved, is damaged. Restore it from a backup, or remove it if you are sure that you want to use this folder.`,
    );
  }
}

export async function writeMark(folder: string, mark: StateMark | undefined): Promise<void> {
  const path = join(folder, MOVED);
  if (mark) return await replaceFile(path, `${JSON.stringify(mark)}\n`);
  await removeIfThere(path);
  await syncFolder(folder);
}
