import type { CheckContext } from './check-context.ts';
import { CheckFailure, errorCode } from './failure.ts';

/** Says why there is no connection, and to which of the addresses tried. */
export function connectionFailure(
  error: unknown,
  { peer, step }: CheckContext,
  afterMs: number,
): CheckFailure {
  const code = errorCode(error);
  const say = (reason: string) => new CheckFailure('connection', reason, { cause: error });
  switch (code) {
    case 'ECONNREFUSED':
      return say(`connection refused by ${peer} after ${afterMs} ms`);
    case 'ECONNRESET':
    case 'EPIPE':
      return step === 'handshake'
        ? say(`${peer} closed the connection in the TLS handshake after ${afterMs} ms`)
        : say(`${peer} closed the connection after ${afterMs} ms`);
    case 'ETIMEDOUT':
      return say(`no connection to ${peer} after ${afterMs} ms`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return say(`there is no route to ${peer}`);
    default:
  }
  if (code?.startsWith('ERR_SSL') || code === 'EPROTO') return tlsFailure(error, code, peer);
  return say(`the connection to ${peer} failed (${code ?? 'unknown error'})`);
}

/** Source: OpenSSL, ssl/ssl_err.c, as Node names its reasons. */
function tlsFailure(error: unknown, code: string, peer: string): CheckFailure {
  const say = (reason: string) => new CheckFailure('tls', `${reason} (${code})`, { cause: error });
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)) {
    return say(`${peer} does not speak TLS`);
  }
  if (/NO_APPLICATION_PROTOCOL/.test(code)) return say(`${peer} does not speak HTTP/1.1`);
  if (/UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION/.test(code)) {
    return say(`${peer} speaks only a TLS version that is too old`);
  }
  return say(`the TLS handshake with ${peer} failed`);
}
