import { createLog } from '../app/log.ts';
import { counted } from '../bot/shared/text-format.ts';
import { openLowdbForMove } from '../store/lowdb/lowdb-store.ts';
import type { MovableStore } from '../store/move-mark.ts';
import {
  type ComparedPart,
  compareState,
  isSame,
  moveState,
  openParts,
} from '../store/move-state.ts';
import { openPostgresForMove } from '../store/postgres/postgres-store.ts';
import { loadSettings } from './control-client.ts';
import { specialParts } from './move-state-parts.ts';
import { CommandLineError } from './options.ts';

/** Moves all state from the data folder to PostgreSQL, or back. With `check` it only compares, and resolves to false for differences. */
export async function runMoveState(options: {
  back: boolean;
  check: boolean;
  version: string;
  print: (line: string) => void;
}): Promise<boolean> {
  const { back, check, version, print } = options;
  const { dataDir, database, secrets } = loadSettings();
  if (!database) {
    throw new CommandLineError(
      'Set DATABASE_URL. move-state moves data between the DATA_DIR folder and that database.',
    );
  }
  const log = createLog({ level: 'warn', secrets });
  const folder = await openLowdbForMove({ folder: dataDir, log });
  try {
    const tables = await openPostgresForMove({ ...database, version, isCompared: check, log });
    try {
      const [from, to] = back ? [tables, folder] : [folder, tables];
      print(`From  ${from.place}`);
      print(`To    ${to.place}`);
      print('');
      const parts = await openParts(from, to, specialParts(log));
      return check
        ? await printDifferences(compareState(parts), print)
        : await printMove(moveState(from, to, parts), { from, to }, print);
    } finally {
      await tables.store.close();
    }
  } finally {
    await folder.store.close();
  }
}

async function printMove(
  moving: AsyncIterable<ComparedPart>,
  { from, to }: { from: MovableStore; to: MovableStore },
  print: (line: string) => void,
): Promise<true> {
  const counts = createCounts();
  for await (const compared of moving) {
    counts.add(compared);
    print(`  ${compared.name}: ${compared.to.count}, identical on both sides`);
  }
  if (counts.isEmpty()) {
    print(`Nothing left to move. Askwatch already uses ${to.place}.`);
    return true;
  }
  print('');
  print(
    `Moved: ${counts.inWords()}. Askwatch now uses ${to.place}. It will refuse to start on ${from.place}.`,
  );
  return true;
}

async function printDifferences(
  comparing: AsyncIterable<ComparedPart>,
  print: (line: string) => void,
): Promise<boolean> {
  const counts = createCounts();
  let different = 0;
  for await (const compared of comparing) {
    counts.add(compared);
    if (isSame(compared)) continue;
    different += 1;
    const { name, from, to } = compared;
    print(
      from.count === to.count
        ? `  ${name}: ${from.count} on both sides, but different`
        : `  ${name}: ${from.count} and ${to.count}`,
    );
  }
  if (different === 0) {
    print(`Both are identical: ${counts.inWords()}.`);
    return true;
  }
  print('');
  print(
    `They differ in ${counted(different, 'group')}, listed above. That is expected if Askwatch has changed one side since the move.`,
  );
  return false;
}

function createCounts() {
  const counts = new Map<string, number>();
  return {
    add({ kind, to }: ComparedPart) {
      if (to.count > 0) counts.set(kind, (counts.get(kind) ?? 0) + to.count);
    },
    isEmpty: () => counts.size === 0,
    /** For example `documents 6, records 12`. */
    inWords: () => [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ') || 'nothing',
  };
}
