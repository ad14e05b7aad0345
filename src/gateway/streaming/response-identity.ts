import { randomUUID } from 'node:crypto';

/** What tells an answer from others; all chunks of a stream have the same. */
export interface AnswerIdentity {
  id: string;
  /** Unix time, seconds. */
  created: number;
}

/** The identity of an answer of which its provider says this. */
export type Identify = (told: { id?: unknown; created?: unknown }) => AnswerIdentity;

/** No provider's is near it. */
const ID_LENGTH = 200;

/** How far clocks may differ. */
const DAY_SECONDS = 24 * 60 * 60;

/**
 * Judges what one upstream says of its answers, one after the other. Its id stays unless it is missing, empty, or the one
 * that its answer before had: then it is a constant and tells nothing apart. Its time stays unless it is none within a day
 * of ours: a 0, milliseconds, or a constant, too. What does not stay is ours.
 */
export function createIdentify(): Identify {
  let before: string | undefined;
  return ({ id, created }) => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const told = typeof id === 'string' && id.length <= ID_LENGTH ? id.trim() : '';
    const isOwn = told !== '' && told !== before;
    if (told !== '') before = told;
    const isNow = Number.isInteger(created) && Math.abs(Number(created) - nowSeconds) < DAY_SECONDS;
    return {
      id: isOwn ? String(id) : `chatcmpl-${randomUUID()}`,
      created: isNow ? Number(created) : nowSeconds,
    };
  };
}
