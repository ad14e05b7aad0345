import { ErrorCode } from '../../contracts/error.ts';
import { HttpError, notFound } from '../../http/errors.ts';

/** What who asked for a check is told when it is in vain. */
export const notChecked = {
  paused: () =>
    new HttpError(
      409,
      ErrorCode.conflict,
      'The monitor is paused, and is not checked. Resume it, then check.',
    ),
  removed: () => notFound('The monitor was removed meanwhile.'),
  networkLost: () =>
    new HttpError(
      503,
      ErrorCode.unavailable,
      'The network of Askwatch itself is gone, so nothing was learned of the target. Check again when it is back.',
    ),
  closing: () =>
    new HttpError(503, ErrorCode.unavailable, 'Askwatch is being stopped. Try again later.'),
};
