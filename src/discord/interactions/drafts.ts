import { randomBytes } from 'node:crypto';

/** Filled forms that were not right, for those who open them again. */
export type Drafts = ReturnType<typeof createDrafts>;

/** The newest are kept; a form that was forgotten opens empty. */
const MAX_KEPT = 200;

/** In memory only: an address may hold a password, and what was not accepted is written nowhere. */
export function createDrafts() {
  const kept = new Map<string, Record<string, string>>();
  return {
    /** Keeps what was filled in; gives the id for the button that opens it again. */
    keep(values: Record<string, string>) {
      const id = randomBytes(9).toString('base64url');
      kept.set(id, values);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      return id;
    },
    /** What was filled in; nothing of one that was forgotten. */
    of: (id: string) => kept.get(id) ?? {},
  };
}
