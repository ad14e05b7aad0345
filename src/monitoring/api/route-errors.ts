import { ErrorCode } from '../../contracts/error.ts';
import { MonitoringPath } from '../../contracts/monitoring.ts';
import { addedPath } from '../../contracts/monitoring-additions.ts';
import { HttpError, notFound } from '../../http/errors.ts';

/** The 404 for a monitor that is not there. */
export const noSuchMonitor = () =>
  notFound(
    `There is no monitor with this id. GET ${MonitoringPath.monitors}?include_paused=true lists those there are.`,
  );

/** The 404 for a push token that is not there. */
export const noSuchHeartbeat = () =>
  notFound('There is no heartbeat with this token. Check the push URL.');

/** The 409 for a check of a heartbeat. */
export const notChecked = () =>
  new HttpError(
    409,
    ErrorCode.conflict,
    'A HEARTBEAT is not checked: it waits for its job. To try it out, send a ping to its push URL.',
  );

/** The 409 for a push token of a monitor that is none of a job. */
export const notPinged = () =>
  new HttpError(
    409,
    ErrorCode.conflict,
    'Only a HEARTBEAT has a push token. To watch a job, create a monitor of that kind.',
  );

/** The 409 for a check of a monitor that is paused. */
export const isPaused = (id: string) =>
  new HttpError(
    409,
    ErrorCode.conflict,
    `This monitor is paused and is not checked. Resume it first, with POST ${addedPath('resume', { id })}.`,
  );

/** What a failing store means to a caller: nothing happened, and trying again may help. */
export async function orUnavailable<T>(work: Promise<T>, sentence: string): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    throw new HttpError(503, ErrorCode.unavailable, sentence, { cause });
  }
}

/** The 400 for a body where none is read. */
export const bodyNotExpected = () =>
  new HttpError(400, ErrorCode.invalidRequest, 'This takes no body. Leave it out.');

/** The sentence of a 503 to a change. */
export const NOT_STORED = 'This could not be stored, and nothing has changed. Try again.';
