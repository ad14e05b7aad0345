import { createLog } from '../app/log.ts';
import { assertStarted } from '../app/open-store.ts';
import { counted } from '../bot/shared/text-format.ts';
import { openLowdbForMove } from '../store/lowdb/lowdb-store.ts';
import {
  type ComparedPart,
  compareState,
  isSame,
  moveState,
  openParts,
  type StatePart,
} from '../store/move-state.ts';
import { openPostgresForMove } from '../store/postgres/postgres-store.ts';
import {
  CommandLineError,
  type CommandRun,
  type PrintedResult,
  type PrintOptions,
} from './command.ts';
import { loadSettings } from './control-client.ts';
import { specialParts } from './move-state-parts.ts';
import { Progress } from './progress.ts';

interface MoveOptions extends PrintOptions {
  back?: boolean;
  check?: boolean;
}

/** Moves all state from the data folder to PostgreSQL, or back. With `check` it only compares. */
export async function runMoveState(options: MoveOptions, run: CommandRun): Promise<PrintedResult> {
  const { back = false, check = false } = options;
  const { version } = run.program;
  const { dataDir, database, secrets, logFormat } = loadSettings();
  if (!database) {
    throw new CommandLineError(
      'Set DATABASE_URL. move-state moves data between the DATA_DIR folder and that database.',
    );
  }
  if (!back) assertStarted({ database: undefined, dataDir });
  const log = createLog({ level: 'warn', format: logFormat, secrets });
  const folder = await openLowdbForMove({ folder: dataDir, log });
  try {
    const tables = await openPostgresForMove({ ...database, version, isCompared: check, log });
    try {
      const [from, to] = back ? [tables, folder] : [folder, tables];
      const progress = new Progress(check ? 'Comparing' : 'Moving', run, options);
      const print = (line: string) => {
        progress.clear();
        if (!options.json && !options.quiet) run.out.write(`${line}\n`);
      };
      print(`From  ${from.place}\nTo    ${to.place}\n`);
      const parts = withProgress(await openParts(from, to, specialParts(log)), progress);
      const places = { from: from.place, to: to.place };
      try {
        return check
          ? await showDifferences(compareState(parts), places)
          : await showMove(moveState(from, to, parts), places, print);
      } finally {
        progress.clear();
      }
    } finally {
      await tables.store.close();
    }
  } finally {
    await folder.store.close();
  }
}

/** Counts what is read of each part, because one of them may take most of the time. */
function withProgress(parts: readonly StatePart[], progress: Progress): StatePart[] {
  return parts.map((part, at) => {
    const show = (what: string) =>
      progress.update(at, parts.length, `parts, ${part.name}: ${what}`);
    return {
      ...part,
      async *read(side) {
        let count = 0;
        for await (const item of part.read(side)) {
          count += 1;
          show(`${count} read`);
          yield item;
        }
      },
      async copy() {
        show('copying');
        await part.copy();
      },
    };
  });
}

interface MovePlaces {
  from: string;
  to: string;
}

async function showMove(
  moving: AsyncIterable<ComparedPart>,
  places: MovePlaces,
  print: (line: string) => void,
): Promise<PrintedResult> {
  const counts = createCounts();
  for await (const compared of moving) {
    counts.add(compared);
    print(`  ${compared.name}: ${compared.to.count}, identical on both sides`);
  }
  const data = { ...places, moved: counts.byKind() };
  const { from, to } = places;
  const lines = counts.isEmpty()
    ? [`Nothing left to move. Askwatch already uses ${to}.`]
    : [
        '',
        `Moved: ${counts.inWords()}. Askwatch now uses ${to}. It will refuse to start on ${from}.`,
      ];
  return { data, lines, quietLines: [] };
}

async function showDifferences(
  comparing: AsyncIterable<ComparedPart>,
  places: MovePlaces,
): Promise<PrintedResult> {
  const counts = createCounts();
  const different: ComparedPart[] = [];
  for await (const compared of comparing) {
    counts.add(compared);
    if (!isSame(compared)) different.push(compared);
  }
  const data = {
    ...places,
    isSame: different.length === 0,
    compared: counts.byKind(),
    differences: different.map(({ kind, name, from, to }) => {
      return { kind, name, from: from.count, to: to.count };
    }),
  };
  if (data.isSame) {
    return { data, lines: [`Both are identical: ${counts.inWords()}.`], quietLines: [] };
  }
  const lines = data.differences.map(({ name, from, to }) =>
    from === to
      ? `  ${name}: ${from} on both sides, but different`
      : `  ${name}: ${from} and ${to}`,
  );
  const summary = `They differ in ${counted(lines.length, 'group')}, listed above. That is expected if Askwatch has changed one side since the move.`;
  return { data, lines: [...lines, '', summary], code: 1 };
}

function createCounts() {
  const counts = new Map<string, number>();
  return {
    add({ kind, to }: ComparedPart) {
      if (to.count > 0) counts.set(kind, (counts.get(kind) ?? 0) + to.count);
    },
    isEmpty: () => counts.size === 0,
    byKind: () => Object.fromEntries(counts),
    /** For example `documents 6, records 12`. */
    inWords: () => [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ') || 'nothing',
  };
}
