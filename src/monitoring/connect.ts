import net from 'node:net';
import tls from 'node:tls';
import { CheckFailure, errorCode, notAllowed } from './failure.ts';
import type { NameLookup } from './name-lookup.ts';
import { literalAddress, type TargetGuard } from './target-guard.ts';

/** With several addresses, how long one may take before the next is tried (RFC 8305 has 250 ms; far hosts need more). */
const ADDRESS_ATTEMPT_MS = 1_000;

/** Opens a new connection to the host of a URL; throws a `CheckFailure`, or the signal's reason when it aborts. */
export type Connect = (url: URL, signal: AbortSignal) => Promise<net.Socket>;

/**
 * Connections that go only where the guard allows. A literal is checked here, because sockets look up names only; a
 * name is looked up here and the socket is given exactly the addresses that were checked, so that a name which
 * changes its answer (DNS rebinding) finds no gap. Of several addresses the forbidden ones are left out.
 */
export function createConnect(options: {
  guard: TargetGuard;
  lookup: NameLookup;
  /** Certificates to trust instead of the usual ones, PEM. */
  ca?: string | string[];
}): Connect {
  const { guard, lookup } = options;
  // Shared: reading the root certificates anew costs more than a handshake.
  const secureContext = tls.createSecureContext(options.ca ? { ca: options.ca } : {});

  async function addressesOf(hostname: string, signal: AbortSignal): Promise<string[]> {
    const literal = literalAddress(hostname);
    const addresses = literal ? [literal] : await unlessAborted(lookup(hostname), signal);
    const allowed = addresses.filter((address) => guard.allows(address));
    if (allowed.length === 0) {
      throw notAllowed(literal ? 'the address' : 'the address behind the name');
    }
    return allowed;
  }

  return async (url, signal) => {
    const secure = url.protocol === 'https:';
    const addresses = await addressesOf(url.hostname, signal);
    signal.throwIfAborted();
    const startMs = performance.now();
    const target: net.TcpNetConnectOpts = {
      port: Number(url.port) || (secure ? 443 : 80),
      ...addressOptions(addresses),
      noDelay: true,
    };
    if (!secure) {
      const socket = net.connect(target);
      await opened(socket, 'connect', signal, startMs);
      return socket;
    }
    const literal = literalAddress(url.hostname);
    const socket = tls.connect({
      ...target,
      secureContext,
      ...(literal ? {} : { servername: url.hostname }),
      ALPNProtocols: ['http/1.1'],
      // Judged below, where the certificate can still be read; nothing is sent before.
      rejectUnauthorized: false,
      checkServerIdentity: (_host, certificate) =>
        tls.checkServerIdentity(literal ?? url.hostname, certificate),
    });
    await opened(socket, 'secureConnect', signal, startMs);
    if (!socket.authorized) {
      const failure = certificateFailure(socket);
      socket.destroy();
      throw failure;
    }
    return socket;
  };
}

/** Waits for `promise`, but no longer than the signal allows. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
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

async function opened(
  socket: net.Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
  startMs: number,
): Promise<void> {
  try {
    await unlessAborted(
      new Promise<void>((resolve, reject) => {
        socket.once(event, resolve);
        socket.once('error', reject);
        socket.once('close', () => reject(Object.assign(new Error(), { code: 'ECONNRESET' })));
      }),
      signal,
    );
    // Errors from here on belong to whoever uses the socket; one more listener keeps a late one from being fatal.
    socket.on('error', () => {});
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    signal.throwIfAborted();
    throw connectionFailure(error, Math.round(performance.now() - startMs));
  }
}

function connectionFailure(error: unknown, afterMs: number): CheckFailure {
  const code = errorCode(error);
  const say = (reason: string) => new CheckFailure('connection', reason, { cause: error });
  switch (code) {
    case 'ECONNREFUSED':
      return say(`connection refused after ${afterMs} ms`);
    case 'ECONNRESET':
      return say(`the connection was closed by the other side after ${afterMs} ms`);
    case 'ETIMEDOUT':
      return say(`no connection after ${afterMs} ms`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return say('there is no route to the host');
    default:
  }
  if (code?.startsWith('ERR_SSL') || code === 'EPROTO') {
    return new CheckFailure('tls', `the TLS handshake failed (${code})`, { cause: error });
  }
  return say(`the connection failed (${code ?? 'unknown error'})`);
}

function certificateFailure(socket: tls.TLSSocket): CheckFailure {
  const say = (reason: string) => new CheckFailure('tls', reason);
  // Typed as an Error, it is the code of the failed check. Source: node:tls, `authorizationError`.
  const code = String(socket.authorizationError);
  const certificate = socket.getPeerCertificate();
  const day = (date: string) => new Date(date).toISOString().slice(0, 10);
  // Said first whatever else is wrong: it is what the owner has to act on.
  if (Date.parse(certificate.valid_to) < Date.now()) {
    return say(`the certificate expired on ${day(certificate.valid_to)}`);
  }
  switch (code) {
    case 'CERT_NOT_YET_VALID':
      return say(`the certificate is valid only from ${day(certificate.valid_from)}`);
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return say('the certificate is self-signed');
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return say('the certificate is for another name');
    default:
      return say(`the certificate is not trusted (${code})`);
  }
}
