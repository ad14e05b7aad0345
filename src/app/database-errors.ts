import { StoreUnavailableError } from '../store/errors.ts';

/**
 * Explains a PostgreSQL error to a person: what happened and what to do. `undefined` for other errors. `setting` is the variable
 * with the address.
 */
export function databaseSentence(
  error: unknown,
  setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL' = 'DATABASE_URL',
): string | undefined {
  const isUnavailable = error instanceof StoreUnavailableError;
  const cause = isUnavailable && error.cause !== undefined ? error.cause : error;
  const {
    code = '',
    message: given = '',
    severity,
  } = (cause ?? {}) as { code?: string; message?: string; severity?: string };
  // The error for a name with several addresses has only a code.
  const message = given || code;
  const sentence = byCode(code, message) ?? byMessage(message);
  if (sentence !== undefined) return `${setting}: ${sentence}`;
  if (!isUnavailable) return undefined;
  // The server itself says it, so it was reached.
  if (severity !== undefined) {
    return `${setting}: the database is not usable right now: ${message}. Check it and try again.`;
  }
  return `${setting}: cannot reach the database: ${message}. Check that it is running and reachable from here at this host and port.`;
}

/** By what PostgreSQL and OpenSSL say. Source: appendix A of the manual of PostgreSQL. */
function byCode(code: string, message: string): string | undefined {
  switch (code) {
    case '28P01':
      return `${message}. Check the user and password. Percent-encode characters such as @ : / # % in the password: @ is %40.`;
    case '28000': {
      const tls = /no encryption/.test(message)
        ? ' If it requires TLS, add ?sslmode=verify-full to the address, and &sslrootcert=<file> if the certificate comes from your own authority.'
        : '';
      return `the server doesn't accept this user from here: ${message}. Allow it in the server's pg_hba.conf.${tls}`;
    }
    case '3D000':
      return `${message}. Create it as a user with that right: createdb <name>`;
    case '42501':
      return `this user lacks a right: ${message}. Let the user create schemas in the database, or create the schema for them: create schema askwatch authorization <user>`;
    case '53300':
      return `the server accepts no more connections: ${message}. Raise its max_connections, lower DATABASE_POOL, or run fewer processes.`;
    case '25006':
      return `the database is read-only: ${message}. It is a standby, or default_transaction_read_only is on. Set the address of the primary.`;
    case '57P03':
      return `${message}. Try again in a moment.`;
    case 'CERT_HAS_EXPIRED':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `the server's certificate isn't trusted: ${message}. Name its authority's certificate file with &sslrootcert=<file>, or renew the certificate for this host.`;
    default:
      return undefined;
  }
}

/** By sentences of `pg`, which has no codes of its own. */
function byMessage(message: string): string | undefined {
  if (/does not support SSL/.test(message)) {
    return 'the server offers no TLS, but the address requires it. Turn on TLS on the server, or remove sslmode from the address if the network is your own.';
  }
  if (/^SASL: .*password must be a/.test(message)) {
    return 'the server requires a password, but the address has none: postgres://user:password@host:5432/database';
  }
  return undefined;
}
