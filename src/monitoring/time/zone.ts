import { memoize } from './memoize.ts';

/** More than there are zones. */
const MAX_ZONES = 1_000;

/**
 * The clock of a zone by its IANA name, such as `Europe/Berlin`: what it shows at a moment, as `2026-03-29 03:30`.
 * Throws a RangeError with a sentence when there is none of that name.
 */
export const openZone = memoize(MAX_ZONES, (name: string): ((ms: number) => string) => {
  try {
    // Intl takes offsets such as +01:00 in some versions of Node; they are no zones.
    if (!/^[a-z][\w+/-]*$/i.test(name)) throw new RangeError('no name');
    // Swedish writes dates as ISO 8601 does.
    const options = { timeZone: name, dateStyle: 'short', timeStyle: 'short' } as const;
    const format = new Intl.DateTimeFormat('sv-SE', options);
    return (ms) => format.format(ms);
  } catch {
    throw new RangeError(
      `unknown time zone '${name}'; use a name from the time zone database, such as Europe/Berlin or UTC`,
    );
  }
});
