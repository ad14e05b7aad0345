import { z } from 'zod';
import type { HttpServer } from '../../http/server-types.ts';
import type { SessionState } from '../shared/api-types.ts';
import { type Guards, guarded } from './guards.ts';
import type { Login } from './login.ts';
import { clearedCookies, cookieFor } from './session-cookie.ts';

/** A password of 500 characters fits in any encoding. */
const BODY_LIMIT_BYTES = 8 * 1024;

const LoginBody = z.strictObject({ password: z.string().min(1).max(1_000) });

/** Adds the login state for pages and, with a password, login and logout. */
export function addLoginRoutes(server: HttpServer, guards: Guards, login: Login | undefined): void {
  server.get(
    '/console/session',
    guarded(guards.loginFetch),
    async (request): Promise<SessionState> => {
      if (!login) return { state: 'open' };
      return { state: login.sessionOf(request) ? 'in' : 'out' };
    },
  );
  if (!login) return;

  server.post(
    '/console/login',
    { ...guarded(guards.loginWrite, { body: LoginBody }), bodyLimit: BODY_LIMIT_BYTES },
    async (request, reply): Promise<SessionState> => {
      const token = await login.logIn(request.body.password, request);
      reply.header('set-cookie', cookieFor(token, request));
      return { state: 'in' };
    },
  );

  server.post(
    '/console/logout',
    { ...guarded(guards.loginWrite), bodyLimit: BODY_LIMIT_BYTES },
    async (request, reply): Promise<SessionState> => {
      await login.logOut(request);
      reply.header('set-cookie', clearedCookies());
      return { state: 'out' };
    },
  );
}
