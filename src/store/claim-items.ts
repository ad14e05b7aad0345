import { z } from 'zod';

/** The part of the state that holds claims; its groups are their names. */
export const CLAIMS_PART = 'claims';

/** One thing, as it moves from one engine to another. */
export const ClaimItem = z.strictObject({
  key: z.string(),
  atMs: z.int(),
  done: z.boolean(),
  /** How long it is refused, once it is done. */
  keepMs: z.int().optional(),
  /** Until it is done, for whoever goes on with it. */
  open: z.strictObject({ request: z.string(), takeovers: z.int() }).optional(),
});
export type ClaimItem = z.infer<typeof ClaimItem>;

/** The same thing has the same text, whoever wrote it. */
export const claimText = (item: ClaimItem): string => JSON.stringify(ClaimItem.parse(item));
