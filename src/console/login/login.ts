import type { Logger } from 'pino';
import type { Store } from '../../bot/platform.ts';
import { clientKeyOf } from '../../http/client-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpRequest } from '../../http/server-types.ts';
import { createLoginLimits } from './login-limits.ts';
import { ConsolePassword, fingerprintCollection } from './password.ts';
import { tokensOf } from './session-cookie.ts';
import { Sessions, sessionsCollection } from './sessions.ts';

/** Session cookies that are read of one request. Browsers send one or two. */
const MAX_TOKENS = 4;

export interface LoginOptions {
  password: string;
  /** scrypt's N, the work of each attempt; tests attempt often. */
  cost?: number;
  /** Unix time in milliseconds. */
  nowMs?: () => number;
  /** Time between two searches for expired sessions; a minute if absent. */
  sweepEveryMs?: number;
}

/** The login of the console: one password, and a session for each browser that entered it. */
export type Login = Awaited<ReturnType<typeof openLogin>>;

/** Opens the login, shared by all processes on the same store. Earlier sessions stay valid unless the password changed. */
export async function openLogin(
  options: LoginOptions & { store: Pick<Store, 'collection' | 'windows'>; log: Logger },
) {
  const { password: wanted, cost, nowMs, sweepEveryMs, store, log } = options;
  const stored = store.collection(sessionsCollection);
  const sessions = await Sessions.open({ stored, log, nowMs, sweepEveryMs });
  const password = await ConsolePassword.open({
    password: wanted,
    stored: store.collection(fingerprintCollection),
    endSessions: () => sessions.endAll(),
    cost,
    log,
  });
  const countAttempt = createLoginLimits(store);

  // A browser may send several cookies: anyone who can write cookies for this host must not be able to hide the right one.
  const sessionOf = (request: HttpRequest) =>
    tokensOf(request)
      .map((token) => sessions.use(token))
      .find((session) => session !== undefined && password.isCurrent(session.password));

  async function logOut(request: HttpRequest) {
    const session = sessionOf(request);
    if (session) await sessions.end(session);
  }

  return {
    /** Call before `sessionOf`. Throws a 503 while sessions can't be read. */
    async load(request: HttpRequest) {
      for (const token of tokensOf(request).slice(0, MAX_TOKENS)) await sessions.load(token);
    },
    sessionOf,
    /** Resolves to the token of a new session. Throws the 401 for a wrong password, and the 429. */
    async logIn(guess: string, request: HttpRequest) {
      const address = request.ip;
      const session = sessionOf(request);
      const uncount = await countAttempt(
        session ? { session: session.id } : { address: clientKeyOf(address) },
      );
      const passwordId = await password.match(guess, session ? 'known' : 'stranger');
      if (passwordId === undefined) {
        log.warn({ address }, 'a console login failed: wrong password');
        throw new HttpError(401, 'wrong_password', 'Wrong password. Try again.');
      }
      await uncount();
      const token = await sessions.create(passwordId);
      // The new session replaces the one that the browser had before.
      await logOut(request);
      return token;
    },
    logOut,
    endWith: sessions.endWith.bind(sessions),
    close() {
      sessions.close();
      password.close();
    },
  };
}
