import { hash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection, Following } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';

const HOUR_MS = 3_600_000;

export const SESSION_LIFE_MS = 30 * 24 * HOUR_MS;
const SESSION_IDLE_MS = 7 * 24 * HOUR_MS;

/** The oldest session ends when there are more. */
const MAX_SESSIONS = 200;

/** Uses are stored at most this often. A crash forgets an hour of a week. */
const STORE_USE_EVERY_MS = HOUR_MS;

const SWEEP_EVERY_MS = 60_000;

const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;

/** A process that hasn't read the store for so long may have missed the end of a session, and lets nobody in. */
const MAX_STALE_MS = 10_000;

const StoredSession = z.object({
  createdAtMs: z.int(),
  usedAtMs: z.int(),
  /** The id of the password that started it. */
  password: z.string(),
});
export type StoredSession = z.infer<typeof StoredSession>;

/** The id of a session is the SHA-256 of its token, so a reader of the files can't log in with it. */
export const sessionsCollection = {
  name: 'console-sessions',
  schema: StoredSession,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/**
 * A browser that is logged in. `create` starts a session. It ends by a logout, the next login of the same browser, a new
 * password, a week without use, after a month, or as the oldest of too many. An ended session is refused and its streams
 * are cut at once, also if the store still has it; the sweep then removes it.
 */
export interface Session extends StoredSession {
  readonly id: string;
  storedUseAtMs: number;
  readonly responses: Set<ServerResponse>;
  ended: boolean;
}

interface SessionsOptions {
  stored: Collection<StoredSession>;
  log: Logger;
  /** Unix time in milliseconds, because sessions outlive the process. */
  nowMs?: () => number;
  sweepEveryMs?: number;
}

/** The sessions of all processes, as copies of the stored ones. */
export class Sessions {
  private readonly sessions = new Map<string, Session>();
  private readonly stored: Collection<StoredSession>;
  private readonly log: Logger;
  private readonly nowMs: () => number;
  private readonly timer: NodeJS.Timeout;
  private following!: Following;

  private constructor({ stored, log, nowMs = Date.now, sweepEveryMs }: SessionsOptions) {
    this.stored = stored;
    this.log = log;
    this.nowMs = nowMs;
    this.timer = setInterval(() => void this.sweep(), sweepEveryMs ?? SWEEP_EVERY_MS).unref();
  }

  static async open(options: SessionsOptions): Promise<Sessions> {
    const sessions = new Sessions(options);
    sessions.following = await options.stored.follow((changed) => {
      for (const { id, document } of changed) sessions.applyChange(id, document);
    });
    await sessions.sweep();
    return sessions;
  }

  /** Resolves to the token of a new session, which nothing else keeps. */
  async create(password: string): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const now = this.nowMs();
    await this.stored.update(idOf(token), () => ({ createdAtMs: now, usedAtMs: now, password }));
    const oldest = [...this.sessions.values()].sort((a, b) => a.createdAtMs - b.createdAtMs);
    for (const session of oldest.slice(0, -MAX_SESSIONS)) await this.endOrWarn(session);
    return token;
  }

  /**
   * Reads a session that this process doesn't know yet, because a browser moves to another process faster than the news of
   * its login. Throws a 503 if the store can't tell which sessions have ended.
   */
  async load(token: string): Promise<void> {
    if (!TOKEN.test(token)) return;
    if (this.following.staleMs() > MAX_STALE_MS) throw sessionsUnknown();
    if (!this.sessions.has(idOf(token))) await this.following.catchUp();
  }

  use(token: string): Session | undefined {
    const session = TOKEN.test(token) ? this.sessions.get(idOf(token)) : undefined;
    if (!session || this.isOver(session)) return undefined;
    this.touch(session);
    return session;
  }

  /** Cuts off the response when the session ends, at once if it already has. */
  endWith(session: Session, response: ServerResponse): void {
    if (session.ended) return void response.destroy();
    if (response.destroyed) return;
    session.responses.add(response);
    response.on('close', () => session.responses.delete(response));
  }

  async end(session: Session): Promise<void> {
    cutOff(session);
    // If this write fails, the session stays in memory, so that the sweep can try again.
    await this.stored.update(session.id, () => undefined);
    this.sessions.delete(session.id);
  }

  async endAll(): Promise<void> {
    for (const { id } of await this.stored.list()) await this.stored.update(id, () => undefined);
  }

  close(): void {
    clearInterval(this.timer);
    this.following.stop();
  }

  private applyChange(id: string, document: StoredSession | undefined) {
    const known = this.sessions.get(id);
    if (!document) {
      if (known) cutOff(known);
      this.sessions.delete(id);
    } else if (known) {
      known.usedAtMs = Math.max(known.usedAtMs, document.usedAtMs);
      known.storedUseAtMs = Math.max(known.storedUseAtMs, document.usedAtMs);
    } else {
      const { usedAtMs: storedUseAtMs } = document;
      this.sessions.set(id, { ...document, id, storedUseAtMs, responses: new Set(), ended: false });
    }
  }

  private touch(session: Session) {
    const usedAtMs = this.nowMs();
    session.usedAtMs = usedAtMs;
    if (usedAtMs - session.storedUseAtMs < STORE_USE_EVERY_MS) return;
    session.storedUseAtMs = usedAtMs;
    this.stored
      .update(session.id, (current) => current && { ...current, usedAtMs })
      .catch((error: unknown) =>
        this.log.warn({ err: error }, 'could not store that a session was used'),
      );
  }

  private isOver({ ended, createdAtMs, usedAtMs }: Session): boolean {
    const now = this.nowMs();
    return ended || now - createdAtMs >= SESSION_LIFE_MS || now - usedAtMs >= SESSION_IDLE_MS;
  }

  private async sweep() {
    for (const session of [...this.sessions.values()]) {
      if (this.isOver(session)) await this.endOrWarn(session);
      // An open page counts as a use.
      else if (session.responses.size > 0) this.touch(session);
    }
  }

  private async endOrWarn(session: Session) {
    await this.end(session).catch((error: unknown) =>
      this.log.warn({ err: error }, 'could not remove an expired session; retrying'),
    );
  }
}

function cutOff(session: Session) {
  session.ended = true;
  for (const response of session.responses) response.destroy();
}

const sessionsUnknown = () =>
  new HttpError(
    503,
    'sessions_unknown',
    "Askwatch can't reach its database, so it can't tell who is logged in. Try again in a few seconds.",
    { headers: { 'retry-after': '5' } },
  );

/** A random token of 256 bits needs no slow hash. */
const idOf = (token: string) => hash('sha256', token, 'hex');
