import type { Logger } from 'pino';
import type { InvalidMonitor } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { shortened } from '../shared/text-format.ts';
import type { KnownMonitor } from './watch-state.ts';

/** Rows that are named; the others are counted. */
const NAMED = 5;
const MAX_ID_LENGTH = 60;

/**
 * What stands for monitors of which a list says nothing that can be read: those it names without a status, and all that are
 * missing where it has rows without an id. They are as they were, and not gone. Pure.
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
      ...(changes !== undefined && { status_changes: changes }),
    }));
}

/** Tells whoever runs the program of invalid rows, once for as long as they are the same. */
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

/** `3 rows: "17" (name), "18" (interval_seconds), and 1 more`; empty when there are none. Pure. */
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
