import net from 'node:net';
import tls from 'node:tls';
import { literalAddress } from '../../http/address.ts';
import type { SsrfGuard } from '../../http/ssrf-guard.ts';
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

/** With several addresses, time before the next one is tried (RFC 8305 has 250 ms; distant hosts need more). */
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
  ignoreTls: boolean;
  /** Name in the TLS handshake and the certificate; the host by default. */
  serverName?: string;
  /** Protocols over TLS (ALPN). */
  protocols?: string[];
  /** Conversation on the plain connection before TLS; throws if TLS can't begin. */
  beforeTls?: (socket: net.Socket) => Promise<void>;
  /** Note the earliest end of the whole chain, not only of the server's own certificate. */
  wholeChain?: boolean;
}

/**
 * Opens connections only to addresses that the guard allows. A name is resolved here once, and the socket gets exactly the checked
 * addresses, so a name that changes its answer (DNS rebinding) can't slip through. Forbidden addresses are left out.
 */
export function createConnect(options: {
  guard: SsrfGuard;
  lookup: NameLookup;
  /** Certificates to trust instead of the usual ones, PEM. */
  ca?: string | string[];
}): Connect {
  const { guard, lookup } = options;
  // Shared, because loading the root certificates costs more than a handshake; and created when needed, because a start can do
  // without these 40 ms of CPU.
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
    const target = { port, ...addressOptions(addresses), noDelay: true };
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
    // Read only once, because Node may have none the second time. `getPeerCertificate` would parse every field.
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

/** Waits for `promise` until the signal aborts. The signal must end with its check, because listeners stay on it. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await new Promise<T>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

/** The socket gets the checked addresses, whichever name it looks up. */
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

/** A host in the form of certificates: an address without brackets, a name without the last dot (RFC 6066 §3). */
const serverNameOf = (hostname: string) => literalAddress(hostname) ?? hostname.replace(/\.$/, '');

/** A connection whose certificate the caller judges before anything is sent; a rejected one could not be read. */
function connectTls(options: tls.ConnectionOptions): tls.TLSSocket {
  return tls.connect({
    ...options,
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
}

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
  // Ends every wait on this connection. The signal ends with its check, so the listener can stay.
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
      // The listener stays, because a later error without one would end the process.
      socket.on('error', reject);
      socket.once('close', () => reject(CLOSED_EARLY));
    });
  } catch (error) {
    socket.destroy();
    context.signal.throwIfAborted();
    throw connectionFailure(error, context, Math.round(performance.now() - startMs));
  }
}

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
