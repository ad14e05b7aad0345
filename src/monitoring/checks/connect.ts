import net from 'node:net';
import tls from 'node:tls';
import { literalAddress } from './address.ts';
import {
  certificateFailure,
  isCertificateFor,
  noteCertificate,
  noteChain,
  subjectsOf,
} from './certificate.ts';
import { type CheckContext, peerInWords } from './check-context.ts';
import { CheckFailure, CLOSED_EARLY, errorCode, notAllowed } from './check-result.ts';
import type { NameLookup } from './name-lookup.ts';
import type { SsrfGuard } from './ssrf-guard.ts';

/** With several addresses, how long one may take before the next is tried (RFC 8305 has 250 ms; far hosts need more). */
const ADDRESS_ATTEMPT_MS = 1_000;

/**
 * Opens a new connection to the host of a URL, with TLS for `https:`, and closes it when the check's signal aborts.
 * Throws a `CheckFailure`, or the signal's reason when it aborts.
 */
export type Connect = (
  url: Pick<URL, 'protocol' | 'hostname' | 'port'>,
  context: CheckContext,
  options: ConnectOptions,
) => Promise<net.Socket>;

export interface ConnectOptions {
  /** Take any certificate. */
  ignoreTls: boolean;
  /** The name asked for and looked for in the certificate; the host when absent. */
  serverName?: string | undefined;
  /** What to speak over TLS (ALPN). */
  protocols?: string[];
  /** What is said on the connection before TLS begins; throws when it does not come to that. */
  beforeTls?: ((socket: net.Socket) => Promise<void>) | undefined;
  /** Note when the first one ends of the whole chain of certificates, not only the server's own. */
  wholeChain?: boolean;
}

/**
 * Connections that go only where the guard allows. A literal is checked here, because sockets look up names only; a
 * name is looked up here and the socket is given exactly the addresses that were checked, so that a name which
 * changes its answer (DNS rebinding) finds no gap. Of several addresses the forbidden ones are left out.
 */
export function createConnect(options: {
  guard: SsrfGuard;
  lookup: NameLookup;
  /** Certificates to trust instead of the usual ones, PEM. */
  ca?: string | string[];
}): Connect {
  const { guard, lookup } = options;
  // Shared: reading the root certificates anew costs more than a handshake. Not before one is
  // needed: the two take about 40 ms of CPU, which a start can do without.
  let verifying: tls.SecureContext | undefined;
  let trusting: tls.SecureContext | undefined;
  function contextFor(ignoreTls: boolean): tls.SecureContext {
    if (ignoreTls) {
      trusting ??= tls.createSecureContext({ ca: [] });
      return trusting;
    }
    verifying ??= tls.createSecureContext(options.ca ? { ca: options.ca } : {});
    return verifying;
  }

  let trusted: ReadonlySet<string> | undefined;
  function trustedNames(): ReadonlySet<string> {
    trusted ??= subjectsOf(options.ca ?? tls.rootCertificates);
    return trusted;
  }

  async function addressesOf(hostname: string, context: CheckContext): Promise<string[]> {
    const literal = literalAddress(hostname);
    const addresses = literal ? [literal] : await lookup(hostname);
    const allowed = addresses.filter((address) => guard.allows(address));
    if (allowed.length === 0) {
      const name = literal ? 'the address' : 'the address behind the name';
      throw notAllowed(context.redirected ? `${name} it redirects to` : name);
    }
    return allowed;
  }

  return async (url, context, { ignoreTls, protocols = [], ...options }) => {
    const secure = url.protocol === 'https:';
    context.step = 'name';
    const addresses = await addressesOf(url.hostname, context);
    context.signal.throwIfAborted();
    const port = Number(url.port) || (secure ? 443 : 80);
    context.peer = peerInWords(addresses, port);
    context.step = 'connection';
    // Without a prototype: Node copies the options of a connection, and V8 makes five hidden classes for each such copy, which
    // only a collection of the whole heap takes away.
    const target = { __proto__: null, port, ...addressOptions(addresses), noDelay: true };
    const serverName = serverNameOf(options.serverName ?? url.hostname);
    const plain = !secure || options.beforeTls ? net.connect(target) : undefined;
    if (plain) await opened(plain, context);
    if (plain && secure) await agreed(plain, context, options.beforeTls);
    const socket = secure
      ? connectTls({
          ...(plain ? { socket: plain } : target),
          ...(net.isIP(serverName) === 0 && { servername: serverName }),
          ...(protocols.length > 0 && { ALPNProtocols: protocols }),
          secureContext: contextFor(ignoreTls),
        })
      : (plain as net.Socket);
    if (secure) await opened(socket, context);
    if (addresses.length > 1 && socket.remoteAddress !== undefined) {
      context.peer = peerInWords([socket.remoteAddress], port);
    }
    if (!(socket instanceof tls.TLSSocket)) return socket;
    // Asked for once: a second time Node may have none. Not `getPeerCertificate`, which takes every field apart.
    const certificate = socket.getPeerX509Certificate();
    if (options.wholeChain) noteChain(certificate, context, trustedNames());
    else noteCertificate(certificate, context);
    if (ignoreTls) return socket;
    if (socket.authorized && certificate && isCertificateFor(certificate, serverName)) {
      return socket;
    }
    socket.destroy();
    // Typed as an Error, it is the code of the failed check. Source: node:tls, `authorizationError`.
    const code = socket.authorizationError ?? 'ERR_TLS_CERT_ALTNAME_INVALID';
    throw certificateFailure(certificate, String(code));
  };
}

/** Waits for `promise`, but no longer than the signal allows, which lives no longer than what it is for. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await new Promise<T>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

/** The socket gets the checked addresses whatever it asks for. */
function addressOptions(
  addresses: readonly string[],
): Pick<
  net.TcpNetConnectOpts,
  'host' | 'lookup' | 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'
> {
  const [only] = addresses;
  if (addresses.length === 1 && only !== undefined) return { host: only };
  const found = addresses.map((address) => ({ address, family: net.isIP(address) }));
  return {
    host: 'checked.invalid',
    lookup: (_hostname, _options, callback) => callback(null, found),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  };
}

/** As it stands in certificates: an address without brackets, a name without the last dot (RFC 6066 §3). */
const serverNameOf = (hostname: string) => literalAddress(hostname) ?? hostname.replace(/\.$/, '');

/** A connection whose certificate is judged by the caller, where it can still be read; nothing is sent before. */
function connectTls(options: tls.ConnectionOptions): tls.TLSSocket {
  const socket = tls.connect({
    ...options,
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
  // Node asks for it to give it to `checkServerIdentity`: taking apart every field of the whole chain is a fifth of a check.
  return Object.assign(socket, { getPeerCertificate: () => ({}) });
}

/** Has both sides agree on TLS over a connection that is open. */
async function agreed(
  socket: net.Socket,
  context: CheckContext,
  beforeTls: ConnectOptions['beforeTls'],
): Promise<void> {
  context.step = 'starttls';
  try {
    await beforeTls?.(socket);
  } catch (error) {
    socket.destroy();
    context.signal.throwIfAborted();
    throw error;
  }
  context.step = 'handshake';
}

async function opened(socket: net.Socket, context: CheckContext): Promise<void> {
  const startMs = performance.now();
  // Ends every wait on this connection; the signal lives no longer than its check, so nobody has to unsubscribe.
  context.signal.addEventListener('abort', () => socket.destroy(), { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      if (socket instanceof tls.TLSSocket) {
        socket.once('connect', () => {
          context.step = 'handshake';
        });
        socket.once('secureConnect', resolve);
      } else {
        socket.once('connect', resolve);
      }
      // Stays, or an error that comes later would be fatal; those belong to whoever uses the socket.
      socket.on('error', reject);
      socket.once('close', () => reject(CLOSED_EARLY));
    });
  } catch (error) {
    socket.destroy();
    context.signal.throwIfAborted();
    throw connectionFailure(error, context, Math.round(performance.now() - startMs));
  }
}

/** Says why there is no connection, and to which of the addresses tried. */
function connectionFailure(
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
      return say(`no route to ${peer}`);
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
