import type { Logger } from 'pino';
import type { InvalidMonitor } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { shortened } from '../shared/text-format.ts';
import type { KnownMonitor } from './watch-state.ts';

const NAMED = 5;
const MAX_ID_LENGTH = 60;

/**
 * Placeholders for monitors whose rows can't be read, so that they keep their state. If a row has no id, these are all
 * missing monitors. Pure.
 */
export function placeholdersFor(
  invalid: readonly InvalidMonitor[],
  listed: readonly Monitor[],
  known: readonly KnownMonitor[],
): Monitor[] {
  const unread = invalid.filter(({ isWatched }) => !isWatched);
  if (unread.length === 0) return [];
  const ids = new Set(unread.map(({ id }) => id));
  const there = new Set(listed.map(({ id }) => id));
  const isNameless = ids.has(undefined);
  return known
    .filter(({ id }) => !there.has(id) && (isNameless || ids.has(id)))
    .map(({ id, status, changes }) => ({
      id,
      name: id,
      check_type: 'unknown',
      target: '',
      status,
      interval_seconds: 0,
      status_changes: changes,
    }));
}

/** Logs invalid rows once, until they change. */
export function createInvalidMonitorsLog(
  log: Logger,
): (invalid: readonly InvalidMonitor[]) => void {
  let logged = '';
  return (invalid) => {
    const words = describeInvalid(invalid);
    if (words !== logged && words !== '') {
      log.warn(
        { rows: words },
        'the monitoring service returned monitors that break its contract; watching what can be read of them',
      );
    }
    logged = words;
  };
}

/** `3 rows: "17" (name), "18" (interval_seconds), and 1 more`. Pure. */
export function describeInvalid(invalid: readonly InvalidMonitor[]): string {
  if (invalid.length === 0) return '';
  const named = invalid.slice(0, NAMED).map(({ at, id, what, isWatched }) => {
    const who =
      id === undefined ? `number ${at + 1}` : JSON.stringify(shortened(id, MAX_ID_LENGTH));
    return `${who} (${what}${isWatched ? '' : '; not watched'})`;
  });
  const more = invalid.length - named.length;
  const rows = invalid.length === 1 ? '1 row' : `${invalid.length} rows`;
  return `${rows}: ${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}
