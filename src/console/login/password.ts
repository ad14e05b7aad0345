import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection, Following } from '../../bot/platform.ts';

/**
 * scrypt's N: each attempt takes 32 MiB and about a quarter of a second, for us and for anyone who has stolen the stored
 * fingerprint. Source: OWASP Password Storage Cheat Sheet, "scrypt".
 */
const COST = 2 ** 15;
/** Node's own limit is exactly what this needs, and refuses it. */
const MEMORY_BYTES = 64 * 1024 * 1024;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

const Fingerprint = z.object({
  salt: z.string().regex(/^[0-9a-f]{32}$/),
  /** scrypt of the password, hex. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  cost: z.int().positive(),
});
type Fingerprint = z.infer<typeof Fingerprint>;

/** The fingerprint of the current password, which tells the next start whether the password changed. */
export const fingerprintCollection = {
  name: 'console-password',
  schema: Fingerprint,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const ID = 'password';

/** Known guessers have a session. They don't wait behind strangers. */
export type GuesserKind = 'known' | 'stranger';

interface PasswordOptions {
  password: string;
  stored: Collection<Fingerprint>;
  endSessions: () => Promise<void>;
  /** scrypt's N for a new fingerprint. */
  cost?: number;
  log: Logger;
}

/**
 * The password of the console. The process that started last decides: when its password is new, it ends all sessions and
 * stores the new fingerprint, which all processes follow.
 */
export class ConsolePassword {
  private current: Fingerprint | undefined;
  private following!: Following;
  private readonly lastMatch: Record<GuesserKind, Promise<unknown>> = {
    known: Promise.resolve(),
    stranger: Promise.resolve(),
  };

  static async open(options: PasswordOptions): Promise<ConsolePassword> {
    const opened = new ConsolePassword();
    opened.following = await options.stored.follow((changed) => {
      // A damaged document leaves the known fingerprint in place.
      for (const { document } of changed) opened.current = document ?? opened.current;
    });
    try {
      await adoptPassword(options);
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  /**
   * Resolves to the password's id if this is it, after a time that doesn't tell how much of it is right. Passwords are
   * checked one after another, because each check needs memory.
   */
  match(guess: string, by: GuesserKind): Promise<string | undefined> {
    const matching = this.lastMatch[by].then(async () => {
      // Another process may just have changed the password, and its end of all sessions may have arrived first.
      // Without the store the known one decides; the session that would follow can't be stored.
      await this.following.catchUp()?.catch(() => undefined);
      const fingerprint = this.current;
      return fingerprint && (await fits(guess, fingerprint)) ? idOf(fingerprint) : undefined;
    });
    this.lastMatch[by] = matching.catch(() => undefined);
    return matching;
  }

  isCurrent(id: string): boolean {
    return this.current !== undefined && id === idOf(this.current);
  }

  close(): void {
    this.following.stop();
  }
}

/** Replaces the stored fingerprint if it belongs to another password. */
async function adoptPassword(options: PasswordOptions): Promise<void> {
  const { password, stored, endSessions, cost = COST, log } = options;
  for (;;) {
    const before = await stored.get(ID);
    if (before && (await fits(password, before))) return;
    const salt = randomBytes(SALT_BYTES).toString('hex');
    const hash = (await derive(password, { salt, cost })).toString('hex');
    // After a crash between the two steps the next start does both again.
    await endSessions();
    const now = await stored.update(ID, (current) =>
      current?.salt === before?.salt ? { salt, hash, cost } : current,
    );
    if (now?.salt !== salt) continue;
    if (before) log.info('the console password has changed; all browsers have to log in again');
    return;
  }
}

/** The id tells one password from another and reveals nothing of either. */
const idOf = ({ salt }: Fingerprint) => salt.slice(0, 16);

async function fits(guess: string, fingerprint: Fingerprint): Promise<boolean> {
  return timingSafeEqual(await derive(guess, fingerprint), Buffer.from(fingerprint.hash, 'hex'));
}

/** Settings are read without the space around them, and the same letters may arrive composed or decomposed. */
function derive(
  password: string,
  { salt, cost }: Pick<Fingerprint, 'salt' | 'cost'>,
): Promise<Buffer> {
  const text = password.trim().normalize('NFC');
  const options: ScryptOptions = { N: cost, r: 8, p: 3, maxmem: MEMORY_BYTES };
  return new Promise((resolve, reject) => {
    scrypt(text, Buffer.from(salt, 'hex'), HASH_BYTES, options, (error, derived) => {
      if (error) reject(error);
      else resolve(derived);
    });
  });
}
