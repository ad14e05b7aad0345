import { StoreUnavailableError } from '../store/errors.ts';

/**
 * What a person is told when PostgreSQL cannot be used: what happened and what to do. `undefined` for an error that is none of
 * a database. `setting` is the variable whose address was used.
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
  // Where a name has several addresses, the error of all of them together has a code alone.
  const message = given || code;
  const sentence = byCode(code, message) ?? byMessage(message);
  if (sentence !== undefined) return `${setting}: ${sentence}`;
  if (!isUnavailable) return undefined;
  // The server itself says it, so it was reached.
  if (severity !== undefined) {
    return `${setting}: the database cannot be used now: ${message}. Look at it, and try again.`;
  }
  return `${setting}: the database cannot be reached: ${message}. Check that it runs, and that it can be reached from here under this host and port.`;
}

/** By what PostgreSQL and OpenSSL say. Source: appendix A of the manual of PostgreSQL. */
function byCode(code: string, message: string): string | undefined {
  switch (code) {
    case '28P01':
      return `${message}. Correct user and password; characters such as @ : / # % in a password are written percent-encoded, @ as %40.`;
    case '28000': {
      const tls = /no encryption/.test(message)
        ? ' Where that asks for TLS, add ?sslmode=verify-full to the address, and &sslrootcert=<file> where the certificate is of an authority of your own.'
        : '';
      return `the server does not let this user in from here: ${message}. Have it allowed in the server's pg_hba.conf.${tls}`;
    }
    case '3D000':
      return `${message}. Make it, as a user who may: createdb <name>`;
    case '42501':
      return `this user lacks a right: ${message}. Let the user create a schema in the database, or make the schema and give it to the user: create schema askwatch authorization <user>`;
    case '53300':
      return `the server takes no more connections: ${message}. Raise its max_connections, lower DATABASE_POOL, or run fewer processes.`;
    case '25006':
      return `the database takes no changes: ${message}. It is a standby, or default_transaction_read_only is on. Set the address of the primary.`;
    case '57P03':
      return `${message}. Try again in a moment.`;
    case 'CERT_HAS_EXPIRED':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `the certificate of the server is not to be trusted: ${message}. Name the file of its authority with &sslrootcert=<file>, or have the certificate renewed for this host.`;
    default:
      return undefined;
  }
}

/** By sentences of `pg`, which has no codes of its own. */
function byMessage(message: string): string | undefined {
  if (/does not support SSL/.test(message)) {
    return 'the server offers no TLS, and the address demands it. Have TLS switched on there, or, where the network is your own, take sslmode out of the address.';
  }
  if (/^SASL: .*password must be a/.test(message)) {
    return 'the server asks for a password, and the address has none: postgres://user:password@host:5432/database';
  }
  return undefined;
}
