import { ErrorCode } from '../../contracts/error.ts';
import { HttpError, notFound } from '../../http/errors.ts';

/** What who asked for a look is told when it is in vain. */
export const inVain = {
  paused: () =>
    new HttpError(
      409,
      ErrorCode.conflict,
      'The monitor is paused, and nobody looks at it. Resume it, then look.',
    ),
  removed: () => notFound('The monitor was removed meanwhile.'),
  networkLost: () =>
    new HttpError(
      503,
      ErrorCode.unavailable,
      'The network of Askwatch itself is gone, so nothing was learned of the target. Look again when it is back.',
    ),
  closing: () =>
    new HttpError(503, ErrorCode.unavailable, 'Askwatch is being stopped. Try again later.'),
};
