import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { LEFT_KEPT_HOURS } from '../../contracts/monitoring.ts';
import { HttpError } from '../../http/errors.ts';

export const managedBy = z.object({
  file: z.string(),
  line: z.int().positive(),
  /** The monitor's key in the file, which stays when its name changes. */
  key: z.string(),
  /** When it was removed from the file. */
  leftAtMs: z.int().optional(),
});
export type StoredManagedBy = z.infer<typeof managedBy>;

/** Compares everything except the line. */
export function sameManagedBy(
  a: StoredManagedBy | undefined,
  b: StoredManagedBy | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.file === b.file && a.key === b.key && a.leftAtMs === b.leftAtMs;
}

/** The 409 for a change to a monitor that a file declares. */
export function declaredInFile({ file, line, key, leftAtMs }: StoredManagedBy): HttpError {
  const sentence =
    leftAtMs === undefined
      ? `This monitor is declared in ${file}, line ${line}, as ${key}, and can only be changed there. Nothing was changed here.`
      : `This monitor was declared in ${file} as ${key}, but is no longer there. It is paused, and will be removed ${LEFT_KEPT_HOURS} hours after it left the file. To keep it, put it back into the file. Nothing was changed here.`;
  return new HttpError(409, ErrorCode.conflict, sentence);
}
