/** What is wrong with a file of monitors, and where; lines and columns count from 1. */
export interface Problem {
  file: string;
  line: number;
  column: number;
  /** Says what to write instead; no full stop. */
  message: string;
}

/** Problems that are told; who has more mends these first. */
export const MAX_PROBLEMS = 100;

/** `monitors.yaml:12:5: …`, as editors and compilers write it. */
export const problemLine = ({ file, line, column, message }: Problem) =>
  `${file}:${line}:${column}: ${message}.`;

/** What has problems: nothing of it is taken. */
export class DefinitionsError extends Error {
  override name = 'DefinitionsError' as const;
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemLine).join('\n'));
    this.problems = problems;
  }
}
