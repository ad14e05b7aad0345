/** A problem of a monitors file; lines and columns count from 1. */
export interface FileProblem {
  file: string;
  line: number;
  column: number;
  /** Says what to write instead; no full stop. */
  message: string;
}

export const MAX_PROBLEMS = 100;

/** `monitors.yaml:12:5: …`, as editors and compilers write it. */
export const problemLine = ({ file, line, column, message }: FileProblem) =>
  `${file}:${line}:${column}: ${message}.`;

/** The files have problems, so none of their monitors is applied. */
export class DefinitionsError extends Error {
  override name = 'DefinitionsError' as const;
  readonly problems: readonly FileProblem[];

  constructor(problems: readonly FileProblem[]) {
    super(problems.map(problemLine).join('\n'));
    this.problems = problems;
  }
}
