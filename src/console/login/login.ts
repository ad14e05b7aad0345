import type { Logger } from 'pino';
import type { Store } from '../../bot/platform.ts';
import { clientKeyOf } from '../../http/client-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpRequest } from '../../http/server-types.ts';
import { openLoginLimits, triesCollection } from './attempt-limits.ts';
import { fingerprintCollection, openPassword } from './password.ts';
import { tokensOf } from './session-cookie.ts';
import { openSessions, sessionsCollection } from './sessions.ts';

/** Cookies of one request that are looked at; browsers send one or two. */
const MAX_TOKENS = 4;

/** Who gets in. */
export interface LoginOptions {
  password: string;
  /** How much work each try is, scrypt's N; for tests, which try often. */
  cost?: number;
  /** Unix time in milliseconds. */
  nowMs?: () => number;
  /** How often sessions and wrong passwords that are over are looked for; a minute when absent. */
  sweepEveryMs?: number;
}

/** The login of the console: one password, and a session for each browser that knew it. */
export type Login = Awaited<ReturnType<typeof openLogin>>;

/**
 * Opens the login, which is one for all processes on the same store. Sessions of an earlier start go on, unless the password
 * is another one since.
 */
export async function openLogin(
  options: LoginOptions & { store: Pick<Store, 'collection' | 'lease'>; log: Logger },
) {
  const { password: wanted, cost, nowMs, sweepEveryMs, store, log } = options;
  const clocked = { log, nowMs, sweepEveryMs };
  const sessions = await openSessions({ stored: store.collection(sessionsCollection), ...clocked });
  const password = await openPassword({
    password: wanted,
    stored: store.collection(fingerprintCollection),
    takeLease: () => store.lease('console-password'),
    whenChanged: () => sessions.endAll(),
    cost,
    log,
  });
  const limits = await openLoginLimits({ stored: store.collection(triesCollection), ...clocked });

  // A browser may send several: who can write cookies for this host must not be able to hide the right one.
  const sessionOf = (request: HttpRequest) =>
    tokensOf(request)
      .map((token) => sessions.use(token))
      .find((session) => session !== undefined && password.isCurrent(session.password));

  async function logOut(request: HttpRequest) {
    const session = sessionOf(request);
    if (session) await sessions.end(session);
  }

  return {
    /** To be done with each request before it is asked whose it is. Throws a 503 while that cannot be known. */
    async load(request: HttpRequest) {
      for (const token of tokensOf(request).slice(0, MAX_TOKENS)) await sessions.load(token);
    },
    /** The session that a request belongs to; `undefined` when there is none. */
    sessionOf,
    /** Begins a session and resolves to its token. Throws the 401 for a wrong password, and the 429. */
    async logIn(given: string, request: HttpRequest) {
      const address = request.ip;
      const session = sessionOf(request);
      const one = await limits.take(
        session ? { session: session.id } : { address: clientKeyOf(address) },
      );
      const begunWith = await password.match(given, session ? 'known' : 'stranger');
      if (begunWith === undefined) {
        log.warn({ address }, 'a console login failed: wrong password');
        throw new HttpError(401, 'wrong_password', 'Wrong password. Try again.');
      }
      await one.wasRight();
      const token = await sessions.begin(begunWith);
      // What the browser had before is of no use any more.
      await logOut(request);
      return token;
    },
    /** Ends the session of a request and cuts off its streams. */
    logOut,
    /** Cuts off a stream when the session ends. */
    endWith: sessions.endWith,
    async close() {
      sessions.close();
      limits.close();
      await password.close();
    },
  };
}
