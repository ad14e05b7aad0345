import { existsSync } from 'node:fs';
import { createLog } from '../app/log.ts';
import { counted } from '../bot/shared/text-format.ts';
import { WATCHING } from '../bot/watch/watch-store.ts';
import { readSettings } from '../config/settings.ts';
import { usageInFolder } from '../gateway/usage/usage-folder.ts';
import { resultsInFolder } from '../monitoring/history/results-folder.ts';
import { STATES } from '../monitoring/monitors/state-store.ts';
import { registersInFolder } from '../store/lowdb/raw-registers.ts';
import { openLowdbState } from '../store/lowdb/raw-state.ts';
import { statesInFolder } from '../store/lowdb/raw-states.ts';
import { type Compared, compareState, isSame, moveState } from '../store/move-state.ts';
import { openPostgresState } from '../store/postgres/raw-state.ts';
import type { RawState } from '../store/raw-state.ts';
import { CommandLineError } from './options.ts';

/** What has tables of its own on PostgreSQL, as a data folder keeps it. */
export const FOLDER_PARTS = [
  registersInFolder([STATES]),
  resultsInFolder,
  usageInFolder,
  statesInFolder([WATCHING]),
];

/** While a large group is copied, a line this often. */
const PROGRESS_EVERY_MS = 5_000;

/**
 * Runs `move-state`: moves all state from the data folder to PostgreSQL, or back. With `check` it only compares; gives whether
 * both hold the same then, and true after a move. `print` is given lines as they come.
 */
export async function runMoveState(options: {
  back: boolean;
  check: boolean;
  version: string;
  print: (line: string) => void;
}): Promise<boolean> {
  const { back, check, version, print } = options;
  if (existsSync('.env')) process.loadEnvFile('.env');
  const { dataDir, database, secrets } = readSettings(process.env);
  if (!database) {
    throw new CommandLineError(
      'Set DATABASE_URL. move-state moves data between the DATA_DIR folder and that database.',
    );
  }
  const log = createLog({ level: 'warn', secrets });
  const folder = await openLowdbState({
    ...{ folder: dataDir, parts: FOLDER_PARTS },
    ...{ readOnly: check, log },
  });
  try {
    const tables = await openPostgresState({ ...database, version, readOnly: check, log });
    try {
      const [from, to] = back ? [tables, folder] : [folder, tables];
      print(`From  ${from.place}`);
      print(`To    ${to.place}`);
      print('');
      return check ? await compare(from, to, print) : await move(from, to, print);
    } finally {
      await tables.close();
    }
  } finally {
    await folder.close();
  }
}

async function move(from: RawState, to: RawState, print: (line: string) => void): Promise<true> {
  let toldAtMs = performance.now();
  const tally = createTally();
  const moving = moveState(from, to, ({ group, count }) => {
    if (performance.now() - toldAtMs < PROGRESS_EVERY_MS) return;
    toldAtMs = performance.now();
    print(`  ${group}: ${count} so far`);
  });
  for await (const compared of moving) {
    tally.add(compared);
    toldAtMs = performance.now();
    print(`  ${compared.group}: ${compared.to.count}, identical on both sides`);
  }
  if (tally.isEmpty()) {
    print(`Nothing left to move. Askwatch already uses ${to.place}.`);
    return true;
  }
  print('');
  print(
    `Moved: ${tally.inWords()}. Askwatch now uses ${to.place}. It will refuse to start on ${from.place}.`,
  );
  return true;
}

async function compare(
  from: RawState,
  to: RawState,
  print: (line: string) => void,
): Promise<boolean> {
  const tally = createTally();
  let different = 0;
  for await (const compared of compareState(from, to)) {
    tally.add(compared);
    if (isSame(compared)) continue;
    different += 1;
    const { group, from: source, to: target } = compared;
    print(
      source.count === target.count
        ? `  ${group}: ${source.count} on both sides, but different`
        : `  ${group}: ${source.count} and ${target.count}`,
    );
  }
  if (different === 0) {
    print(`Both are identical: ${tally.inWords()}.`);
    return true;
  }
  print('');
  print(
    `They differ in ${counted(different, 'group')}, listed above. That is expected if Askwatch has changed one side since the move.`,
  );
  return false;
}

/** What was seen so far, by kind. */
function createTally() {
  const counts = new Map<string, number>();
  return {
    add({ part, to }: Compared) {
      counts.set(part, (counts.get(part) ?? 0) + to.count);
    },
    isEmpty: () => counts.size === 0,
    /** Such as `documents 6, records 12`. */
    inWords: () => [...counts].map(([part, count]) => `${part} ${count}`).join(', ') || 'nothing',
  };
}
