import { readZone } from '../../channels/quiet-hours.ts';
import { CommandError } from '../../shared/errors.ts';

/** The time zone that is meant, as IANA names it. Throws `CommandError` when there is no such zone. */
export function zoneIn(text: string): string {
  const zone = readZone(text);
  if (zone !== undefined) return zone;
  throw new CommandError(
    `“zone” must be a time zone such as Europe/Berlin, America/New_York or UTC, not “${text}”.`,
  );
}
