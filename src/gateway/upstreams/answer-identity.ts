import { randomUUID } from 'node:crypto';

/** Tells one answer from others. All chunks of a stream carry the same. */
export interface AnswerIdentity {
  id: string;
  /** Unix time, seconds. */
  created: number;
}

/** Returns the identity of an answer for which the provider sent these fields. */
export type IdentifyAnswer = (fields: { id?: unknown; created?: unknown }) => AnswerIdentity;

/** Longest id that is kept; no provider's comes near it. */
const MAX_ID_LENGTH = 200;

const DAY_SECONDS = 24 * 60 * 60;

/**
 * Checks the ids and times of one upstream's answers, one after the other. An id is replaced if it is missing, empty or the
 * same as the previous answer's, because it is then a constant. A time is replaced if it isn't within a day of
 * ours, since it is then a 0, milliseconds or a constant.
 */
export function createIdentifyAnswer(): IdentifyAnswer {
  let previousId: string | undefined;
  return ({ id, created }) => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const sentId = typeof id === 'string' && id.length <= MAX_ID_LENGTH ? id.trim() : '';
    const isUnique = sentId !== '' && sentId !== previousId;
    if (sentId !== '') previousId = sentId;
    const isNow = Number.isInteger(created) && Math.abs(Number(created) - nowSeconds) < DAY_SECONDS;
    return {
      id: isUnique ? String(id) : `chatcmpl-${randomUUID()}`,
      created: isNow ? Number(created) : nowSeconds,
    };
  };
}
