import { hash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';

const HOUR_MS = 3_600_000;

/** How long a session lives at most, and how long without being used. */
export const SESSION_LIFE_MS = 30 * 24 * HOUR_MS;
export const SESSION_IDLE_MS = 7 * 24 * HOUR_MS;

/** Sessions at once; beyond them the oldest ends. */
const MAX_SESSIONS = 200;

/** A use is stored so often at most: what a crash forgets of it matters little beside a week. */
const STORE_USE_EVERY_MS = HOUR_MS;

/** How often it is looked for sessions that are over, which may have streams open. */
const SWEEP_EVERY_MS = 60_000;

/** Random bytes of a token. */
const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;

const StoredSession = z.object({ createdAtMs: z.int(), usedAtMs: z.int() });
export type StoredSession = z.infer<typeof StoredSession>;

/** Where sessions are kept, each under the SHA-256 of its token: who reads the file cannot log in with it. */
export const sessionsCollection = {
  name: 'console-sessions',
  schema: StoredSession,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** One browser that is logged in. */
export interface Session extends StoredSession {
  readonly id: string;
  storedUseAtMs: number;
  /** Streams that end with it. */
  readonly responses: Set<ServerResponse>;
  ended: boolean;
}

/** Opens the stored sessions, and with them who is logged in. Call once a process. */
export async function openSessions(options: {
  stored: Collection<StoredSession>;
  log: Logger;
  /** Unix time in milliseconds: sessions outlive the process. */
  nowMs?: (() => number) | undefined;
  sweepEveryMs?: number | undefined;
}) {
  const { stored, log, nowMs = Date.now, sweepEveryMs = SWEEP_EVERY_MS } = options;
  const sessions = new Map<string, Session>();
  for (const { id, document } of await stored.list()) sessions.set(id, sessionOf(id, document));

  async function end(session: Session) {
    session.ended = true;
    for (const response of session.responses) response.destroy();
    // Gone here only when it is gone there: else it would be back with the next start, and could not be ended again.
    await stored.update(session.id, () => undefined);
    sessions.delete(session.id);
  }

  function touch(session: Session) {
    session.usedAtMs = nowMs();
    if (session.usedAtMs - session.storedUseAtMs < STORE_USE_EVERY_MS) return;
    const { createdAtMs, usedAtMs } = session;
    session.storedUseAtMs = usedAtMs;
    stored
      .update(session.id, (current) => current && { createdAtMs, usedAtMs })
      .catch((error: unknown) => log.warn({ err: error }, 'the use of a session was not stored'));
  }

  function isOver({ ended, createdAtMs, usedAtMs }: Session) {
    const now = nowMs();
    return ended || now - createdAtMs >= SESSION_LIFE_MS || now - usedAtMs >= SESSION_IDLE_MS;
  }

  const endOrTell = (session: Session) =>
    end(session).catch((error: unknown) =>
      log.warn({ err: error }, 'a session that is over was not removed; it is tried again'),
    );

  async function sweep() {
    for (const session of [...sessions.values()]) {
      if (isOver(session)) await endOrTell(session);
      // Whoever has a page open uses it.
      else if (session.responses.size > 0) touch(session);
    }
  }
  const timer = setInterval(sweep, sweepEveryMs);
  timer.unref();
  await sweep();

  return {
    /** Begins a session; its token exists only in this answer. */
    async begin() {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const now = nowMs();
      const session = sessionOf(idOf(token), { createdAtMs: now, usedAtMs: now });
      await stored.update(session.id, () => ({ createdAtMs: now, usedAtMs: now }));
      sessions.set(session.id, session);
      const oldest = [...sessions.values()].sort((a, b) => a.createdAtMs - b.createdAtMs);
      for (const one of oldest.slice(0, -MAX_SESSIONS)) await endOrTell(one);
      return token;
    },
    /** The session of this token, which counts as a use of it; `undefined` when there is none or it is over. */
    use(token: string) {
      const session = TOKEN.test(token) ? sessions.get(idOf(token)) : undefined;
      if (!session || isOver(session)) return undefined;
      touch(session);
      return session;
    },
    /** Cuts off the response when the session ends, which may be at once. */
    endWith(session: Session, response: ServerResponse) {
      if (session.ended) return void response.destroy();
      if (response.destroyed) return;
      session.responses.add(response);
      response.on('close', () => session.responses.delete(response));
    },
    /** Refuses the session from now on, cuts off its streams, and resolves once that is stored. */
    end,
    async endAll() {
      for (const session of [...sessions.values()]) await end(session);
    },
    /** Looks no more for sessions that are over. */
    close: () => clearInterval(timer),
  };
}

const sessionOf = (id: string, { createdAtMs, usedAtMs }: StoredSession): Session => ({
  id,
  createdAtMs,
  usedAtMs,
  storedUseAtMs: usedAtMs,
  responses: new Set<ServerResponse>(),
  ended: false,
});

/** A random token of 256 bits needs no slow hash. */
const idOf = (token: string) => hash('sha256', token, 'hex');
