import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { LEFT_KEPT_HOURS } from '../../contracts/monitoring.ts';
import { HttpError } from '../../http/errors.ts';

/** Where a monitor is declared, as it is stored with it. */
export const managedBy = z.object({
  file: z.string(),
  line: z.int().positive(),
  /** What it is known by over changes of its name: its key in the file. */
  key: z.string(),
  /** Since when the file does not hold it any more. */
  leftAtMs: z.int().optional(),
});
export type ManagedBy = z.infer<typeof managedBy>;

/** Whether two mean the same, wherever it stands in the file. */
export function sameManagedBy(a: ManagedBy | undefined, b: ManagedBy | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.file === b.file && a.key === b.key && a.leftAtMs === b.leftAtMs;
}

/** The 409 for who would change a monitor that a file declares: it says where to. */
export function declaredInFile({ file, line, key, leftAtMs }: ManagedBy): HttpError {
  const sentence =
    leftAtMs === undefined
      ? `This monitor is declared in ${file}, line ${line}, as ${key}, and can only be changed there. Nothing was changed here.`
      : `This monitor was declared in ${file} as ${key}, but is no longer there. It is paused, and will be removed ${LEFT_KEPT_HOURS} hours after it left the file. To keep it, put it back into the file. Nothing was changed here.`;
  return new HttpError(409, ErrorCode.conflict, sentence);
}
