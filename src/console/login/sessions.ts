import { hash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';

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

/** A session that was read before word of it came is read again after so long: it may have ended before that word. */
const READ_AGAIN_AFTER_MS = 1_000;

/** Sessions that are read at once; of more, word is waited for. */
const MAX_READING = 16;

/** Who does not know for so long which sessions have ended elsewhere lets nobody in. */
const MAX_STALE_MS = 10_000;

const StoredSession = z.object({
  createdAtMs: z.int(),
  usedAtMs: z.int(),
  /** The id of the password that it was begun with; absent in those of an earlier version. */
  password: z.string().optional(),
});
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
  /** Whether word has come of it, so that word will come of its end. */
  isTold: boolean;
  /** Streams that end with it. */
  readonly responses: Set<ServerResponse>;
  ended: boolean;
}

/** Opens the stored sessions, of all processes, and with them who is logged in. Call once a process. */
export async function openSessions(options: {
  stored: Collection<StoredSession>;
  log: Logger;
  /** Unix time in milliseconds: sessions outlive the process. */
  nowMs?: (() => number) | undefined;
  sweepEveryMs?: number | undefined;
}) {
  const { stored, log, nowMs = Date.now, sweepEveryMs = SWEEP_EVERY_MS } = options;
  const sessions = new Map<string, Session>();
  let reading = 0;

  function take(id: string, document: StoredSession): Session {
    const known = sessions.get(id);
    if (!known) {
      const session = sessionOf(id, document);
      sessions.set(id, session);
      return session;
    }
    // Used here and elsewhere.
    known.usedAtMs = Math.max(known.usedAtMs, document.usedAtMs);
    known.storedUseAtMs = Math.max(known.storedUseAtMs, document.usedAtMs);
    return known;
  }

  /** Refuses it from now on and cuts off its streams. */
  function cut(session: Session) {
    session.ended = true;
    for (const response of session.responses) response.destroy();
  }

  function forget(id: string) {
    const session = sessions.get(id);
    if (session) cut(session);
    sessions.delete(id);
  }

  const following = await stored.follow((changed) => {
    for (const { id, document } of changed) {
      if (document) take(id, document).isTold = true;
      else forget(id);
    }
  });

  /** Reads a session of which no word has come; again and again until it comes, since one that ends before is not told of. */
  async function read(id: string) {
    if (reading >= MAX_READING) return;
    reading += 1;
    try {
      const document = await stored.get(id);
      const isTold = sessions.get(id)?.isTold ?? false;
      if (isTold) return;
      if (!document) return forget(id);
      take(id, document);
    } finally {
      reading -= 1;
    }
    setTimeout(() => {
      if (sessions.get(id)?.isTold === false) void read(id).catch(() => forget(id));
    }, READ_AGAIN_AFTER_MS).unref();
  }

  async function end(session: Session) {
    cut(session);
    // Gone here only when it is gone there: else it would be back with the next start, and could not be ended again.
    await stored.update(session.id, () => undefined);
    sessions.delete(session.id);
  }

  function touch(session: Session) {
    session.usedAtMs = nowMs();
    if (session.usedAtMs - session.storedUseAtMs < STORE_USE_EVERY_MS) return;
    const { usedAtMs } = session;
    session.storedUseAtMs = usedAtMs;
    stored
      .update(session.id, (current) => current && { ...current, usedAtMs })
      .catch((error: unknown) =>
        log.warn({ err: error }, 'could not store that a session was used'),
      );
  }

  function isOver({ ended, createdAtMs, usedAtMs }: Session) {
    const now = nowMs();
    return ended || now - createdAtMs >= SESSION_LIFE_MS || now - usedAtMs >= SESSION_IDLE_MS;
  }

  const endOrTell = (session: Session) =>
    end(session).catch((error: unknown) =>
      log.warn({ err: error }, 'could not remove an expired session; retrying'),
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
    async begin(password?: string) {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const now = nowMs();
      const begun = {
        createdAtMs: now,
        usedAtMs: now,
        ...(password !== undefined && { password }),
      };
      await stored.update(idOf(token), () => begun);
      const oldest = [...sessions.values()].sort((a, b) => a.createdAtMs - b.createdAtMs);
      for (const one of oldest.slice(0, -MAX_SESSIONS)) await endOrTell(one);
      return token;
    },
    /**
     * Reads the session of this token where it is not known yet: a browser that has logged in at one process comes to
     * another sooner than word. Throws a 503 when it is not known which sessions have ended.
     */
    async load(token: string) {
      if (!TOKEN.test(token)) return;
      if (following.staleMs() > MAX_STALE_MS) throw unknown();
      const id = idOf(token);
      if (!sessions.has(id)) await read(id);
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
      for (const { id } of await stored.list()) {
        await stored.update(id, () => undefined);
        forget(id);
      }
    },
    /** Looks no more for sessions that are over, nor for what others do. */
    close() {
      clearInterval(timer);
      following.stop();
    },
  };
}

const unknown = () =>
  new HttpError(
    503,
    'sessions_unknown',
    "Askwatch can't reach its database, so it can't tell who is logged in. Try again in a few seconds.",
    { headers: { 'retry-after': '5' } },
  );

const sessionOf = (id: string, stored: StoredSession): Session => ({
  ...stored,
  id,
  storedUseAtMs: stored.usedAtMs,
  isTold: false,
  responses: new Set<ServerResponse>(),
  ended: false,
});

/** A random token of 256 bits needs no slow hash. */
const idOf = (token: string) => hash('sha256', token, 'hex');
