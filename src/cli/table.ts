/** A column: its heading, and whether it holds numbers, which stand at its right. */
export interface Column {
  heading: string;
  numbers?: boolean;
}

/** Lines of a table whose columns are as wide as what they hold. */
export function tableLines(columns: Column[], rows: string[][]): string[] {
  const cells = [columns.map(({ heading }) => heading), ...rows.map((row) => row.map(plain))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? ''))));
  return cells.map((row) =>
    columns
      .map(({ numbers }, at) => {
        const text = row[at] ?? '';
        const space = ' '.repeat((widths[at] ?? 0) - widthOf(text));
        return numbers ? space + text : text + space;
      })
      .join('  ')
      .trimEnd(),
  );
}

/**
 * A text without what a terminal would obey: control characters, and those that turn the direction of writing or cannot be
 * seen, are shown by their number. Names of keys may be anyone's.
 */
export function plain(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function widthOf(text: string): number {
  return [...text].length;
}
