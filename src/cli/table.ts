import { plain } from '../app/plain.ts';

/** Lines of a table whose columns are as wide as what they hold; numbers stand at the right of theirs. */
export function tableLines(
  headings: readonly string[],
  rows: ReadonlyArray<ReadonlyArray<string | number>>,
): string[] {
  const lines = [headings, ...rows.map((row) => row.map((cell) => plain(String(cell))))];
  const columns = headings.map((_, at) => ({
    width: Math.max(...lines.map((line) => widthOf(line[at] ?? ''))),
    hasNumbers: rows.some((row) => typeof row[at] === 'number'),
  }));
  return lines.map((line) =>
    columns
      .map(({ width, hasNumbers }, at) => {
        const text = line[at] ?? '';
        const space = ' '.repeat(width - widthOf(text));
        return hasNumbers ? space + text : text + space;
      })
      .join('  ')
      .trimEnd(),
  );
}

function widthOf(text: string): number {
  return [...text].length;
}
