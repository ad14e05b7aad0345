import { z } from 'zod';
import type { Claims } from '../../store/claims.ts';
import type { Store } from '../../store/store.ts';

/** Which invocations were handled, so that a platform's repeats of one have no effect. */
export type SeenInvocations = Claims<null>;

/** Claims of the store. */
export const SEEN = 'seen';

const KEPT_MS = 86_400_000;

/** Remembers invocations for a day. One that was claimed but not finished, by a process that died, may be claimed again. */
export const openSeenInvocations = (store: Store): SeenInvocations =>
  store.claims({ name: SEEN, schema: z.null(), keptMs: KEPT_MS });
